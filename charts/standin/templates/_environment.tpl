{{/*
A process's settings as variables: apiKeyHeader.name is STANDIN_API_KEY_HEADER_NAME, as parseSettings in packages/contract reads it.
Lists are joined with commas. Integers keep their digits (otherwise, large ones become 2.147483648e+09). Call with (dict "settings" … "prefix" "STANDIN").
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

{{/* Targets that are never allowed as upstreams: the operators, all metrics ports, the API server. Each process adds ClickHouse itself. */}}
{{- define "standin.refusedTargets" -}}
{{- $place := printf "%s.svc.%s" .Release.Namespace .Values.clusterDomain -}}
{{- $operator := printf "%s.%s" (include "standin.componentName" (dict "root" . "component" "operator")) $place -}}
{{- $gateways := printf "%s-pods.%s" (include "standin.componentName" (dict "root" . "component" "gateway")) $place -}}
{{- $dashboards := printf "%s-pods.%s" (include "standin.componentName" (dict "root" . "component" "dashboard")) $place -}}
{{- $api := printf "kubernetes.default.svc.%s:443" .Values.clusterDomain -}}
{{- concat (list (printf "%s:9443" $operator) (printf "%s:9090" $operator) (printf "%s:9090" $gateways) (printf "%s:9090" $dashboards) $api) .Values.egress.refuse | join "," -}}
{{- end -}}

{{- define "standin.egressEnv" -}}
- name: STANDIN_EGRESS_REFUSE
  value: {{ include "standin.refusedTargets" . | quote }}
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
{{- with include "standin.namespaceSelector" . }}
- name: STANDIN_WATCH_NAMESPACE_SELECTOR
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* watch.namespaceSelector as text, in the syntax of the API. Empty if it is not set. */ -}}
{{- define "standin.namespaceSelector" -}}
{{- $terms := list -}}
{{- with .Values.watch.namespaceSelector -}}
{{- if $.Values.watch.namespaces -}}
{{- fail "watch.namespaces and watch.namespaceSelector are mutually exclusive: list the namespaces, or select them by their labels" -}}
{{- end -}}
{{- range $key, $value := .matchLabels -}}
{{- $terms = append $terms (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- range .matchExpressions -}}
{{- if eq .operator "Exists" -}}
{{- $terms = append $terms .key -}}
{{- else if eq .operator "DoesNotExist" -}}
{{- $terms = append $terms (printf "!%s" .key) -}}
{{- else -}}
{{- $terms = append $terms (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join "," $terms -}}
{{- end -}}
