{{/* Fails if values contradict each other. */}}
{{- define "standin.checkClickhouse" -}}
{{- $clickhouse := .Values.clickhouse -}}
{{- if $clickhouse.embedded.enabled -}}
{{- if $clickhouse.url -}}
{{- fail "clickhouse.url and clickhouse.embedded.enabled are mutually exclusive: use your own server, or the one that the chart runs" -}}
{{- end -}}
{{- if $clickhouse.cluster -}}
{{- fail "clickhouse.cluster requires your own server: clickhouse.embedded.enabled runs one process" -}}
{{- end -}}
{{- if or (not $clickhouse.migrate) $clickhouse.migrationsJob.enabled -}}
{{- fail "clickhouse.embedded.enabled: gateways create the tables when the engine is ready. Set clickhouse.migrate to true and clickhouse.migrationsJob.enabled to false" -}}
{{- end -}}
{{- range $component := list "operator" "gateway" "dashboard" -}}
{{- if (index $.Values $component).clickhouse.existingSecret -}}
{{- fail (printf "%s.clickhouse.existingSecret: the embedded engine has only one user, set by clickhouse.existingSecret" $component) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- if eq $clickhouse.existingSecret (include "standin.componentName" (dict "root" . "component" "clickhouse")) -}}
{{- fail (printf "clickhouse.existingSecret: %s is the name of the Secret that Helm creates for the embedded engine and deletes with it. Choose a different name" $clickhouse.existingSecret) -}}
{{- end -}}
{{- $_ := required "clickhouse.url is required: the URL of ClickHouse's HTTP interface, such as http://clickhouse:8123; or set clickhouse.embedded.enabled=true to evaluate Standin" $clickhouse.url -}}
{{- $components := list "operator" "gateway" -}}
{{- if .Values.dashboard.enabled }}{{ $components = append $components "dashboard" }}{{ end -}}
{{- if $clickhouse.migrationsJob.enabled }}{{ $components = append $components "migrations" }}{{ end -}}
{{- range $component := $components -}}
{{- if not (or $clickhouse.dangerouslyAllowNoPassword (include "standin.clickhouseSecret" (dict "root" $ "component" $component))) -}}
{{- fail (printf "ClickHouse has no password for the %s: set clickhouse.existingSecret to a Secret with user name and password (docs/guides/install.md). Endpoints can reach ClickHouse through Services of other namespaces, so only its password protects the log. clickhouse.dangerouslyAllowNoPassword=true disables this check" $component) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "standin.clickhouseUrl" -}}
{{- include "standin.checkClickhouse" . -}}
{{- if .Values.clickhouse.embedded.enabled -}}
{{- printf "http://%s.%s.svc.%s:8123" (include "standin.componentName" (dict "root" . "component" "clickhouse")) .Release.Namespace .Values.clusterDomain -}}
{{- else -}}
{{- .Values.clickhouse.url -}}
{{- end -}}
{{- end -}}

{{/* Secret with a component's ClickHouse user, or an empty string for the user `default`. Call with (dict "root" $ "component" "gateway"). */}}
{{- define "standin.clickhouseSecret" -}}
{{- $clickhouse := .root.Values.clickhouse -}}
{{- $own := "" -}}
{{- if eq .component "migrations" -}}
{{- $own = $clickhouse.migrationsJob.existingSecret -}}
{{- else if ne .component "clickhouse" -}}
{{- $own = (index .root.Values .component).clickhouse.existingSecret -}}
{{- end -}}
{{- $made := ternary (include "standin.componentName" (dict "root" .root "component" "clickhouse")) "" $clickhouse.embedded.enabled -}}
{{- $own | default $clickhouse.existingSecret | default $made -}}
{{- end -}}

{{/* Whether the gateways and the operator update the tables themselves. */}}
{{- define "standin.clickhouseMigrate" -}}
{{- and .Values.clickhouse.migrate (not .Values.clickhouse.migrationsJob.enabled) -}}
{{- end -}}

{{/* Call with (dict "root" $ "component" "gateway"). */}}
{{- define "standin.clickhouseEnv" -}}
{{- $clickhouse := .root.Values.clickhouse -}}
- name: STANDIN_CLICKHOUSE_URL
  value: {{ include "standin.clickhouseUrl" .root | quote }}
- name: STANDIN_CLICKHOUSE_DATABASE
  value: {{ $clickhouse.database | quote }}
{{- with $clickhouse.cluster }}
- name: STANDIN_CLICKHOUSE_CLUSTER
  value: {{ . | quote }}
{{- end }}
{{- if include "standin.clickhouseSecret" . }}
- name: STANDIN_CLICKHOUSE_LOGIN_DIR
  value: /etc/standin/clickhouse-login
{{- end }}
{{- end -}}

{{/* The ClickHouse user. Files, because processes read them again when the Secret changes. Empty without a Secret. */}}
{{- define "standin.clickhouseVolume" -}}
{{- $clickhouse := .root.Values.clickhouse -}}
{{- with include "standin.clickhouseSecret" . }}
- name: clickhouse-login
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ . | quote }}
          items: [{ key: {{ $clickhouse.passwordKey | quote }}, path: password }]
      # Without a user name, the user is `default`.
      - secret:
          name: {{ . | quote }}
          items: [{ key: {{ $clickhouse.usernameKey | quote }}, path: username }]
          optional: true
{{- end }}
{{- end -}}

{{- define "standin.clickhouseMount" -}}
{{- if include "standin.clickhouseSecret" . }}
- { name: clickhouse-login, mountPath: /etc/standin/clickhouse-login, readOnly: true }
{{- end }}
{{- end -}}
