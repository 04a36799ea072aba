{{/*
A process's settings as variables: apiKeyHeader.name is STANDIN_API_KEY_HEADER_NAME, as parseSettings of packages/contract reads it.
Lists are joined by commas; whole numbers keep their digits (YAML's become 2.147483648e+09 otherwise). Call with (dict "settings" … "prefix" "STANDIN").
*/}}
{{- define "standin.settingsEnv" -}}
{{- $prefix := .prefix -}}
{{- range $name, $value := .settings }}
{{- $variable := printf "%s_%s" $prefix (regexReplaceAll "[A-Z]" $name "_${0}" | upper) }}
{{- if kindIs "map" $value }}
{{- include "standin.settingsEnv" (dict "settings" $value "prefix" $variable) }}
{{- else if kindIs "invalid" $value }}
{{- else }}
- name: {{ $variable }}
  value: {{ include "standin.settingText" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "standin.settingText" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* Call with (dict "root" $ "component" "gateway"). */}}
{{- define "standin.clickhouseEnv" -}}
{{- $clickhouse := .root.Values.clickhouse -}}
{{- $component := index .root.Values .component -}}
- name: STANDIN_CLICKHOUSE_URL
  value: {{ required "clickhouse.url is required: the URL of ClickHouse's HTTP interface, such as http://clickhouse:8123" $clickhouse.url | quote }}
- name: STANDIN_CLICKHOUSE_DATABASE
  value: {{ $clickhouse.database | quote }}
{{- with $clickhouse.cluster }}
- name: STANDIN_CLICKHOUSE_CLUSTER
  value: {{ . | quote }}
{{- end }}
{{- with default $clickhouse.existingSecret $component.clickhouse.existingSecret }}
- name: STANDIN_CLICKHOUSE_USERNAME
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: {{ $clickhouse.usernameKey }}, optional: true }
- name: STANDIN_CLICKHOUSE_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: {{ $clickhouse.passwordKey }} }
{{- end }}
{{- end -}}

{{- define "standin.egressEnv" -}}
{{- with .Values.egress }}
- name: STANDIN_EGRESS_ALLOW_PRIVATE
  value: {{ .allowPrivate | quote }}
{{- with .allow }}
- name: STANDIN_EGRESS_ALLOW
  value: {{ join "," . | quote }}
{{- end }}
{{- with .ca }}
- name: STANDIN_EGRESS_CA
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "standin.podNameEnv" -}}
- name: STANDIN_NAME
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
{{- end -}}

{{- define "standin.watchEnv" -}}
{{- with .Values.watch.namespaces }}
- name: STANDIN_WATCH_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
{{- end -}}
