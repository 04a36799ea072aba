{{- define "standin.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of all names. It has at most 40 characters, so that the longest suffix and a StatefulSet's hash fit in a label. */}}
{{- define "standin.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "standin.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "standin.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Call the following with (dict "root" $ "component" "gateway"). */}}
{{- define "standin.componentName" -}}
{{- printf "%s-%s" (include "standin.fullname" .root) .component -}}
{{- end -}}

{{- define "standin.selectorLabels" -}}
app.kubernetes.io/name: {{ include "standin.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "standin.labels" -}}
{{ include "standin.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: standin
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Optional: "annotations". */}}
{{- define "standin.metadata" -}}
name: {{ include "standin.componentName" . }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "standin.labels" . | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "standin.serviceAccountName" -}}
{{- dig "serviceAccount" "name" "" (index .root.Values .component | default dict) | default (include "standin.componentName" .) -}}
{{- end -}}

{{/* Call with (dict "root" $ "image" .Values.image), or with the engine's image. The tag is the same. */}}
{{- define "standin.imageOf" -}}
{{- $registry := .root.Values.global.imageRegistry -}}
{{- $name := ternary (printf "%s/%s" $registry .image.repository) .image.repository (ne $registry "") -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .root.Chart.AppVersion .root.Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The image for all components. */}}
{{- define "standin.image" -}}
{{- include "standin.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end -}}

{{/* Converts a Kubernetes quantity such as 5Gi to bytes. */}}
{{- define "standin.quantity" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "ki" 1024 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9.]+" $text -}}
{{- mulf (float64 $number) (get $units (trimPrefix $number $text)) -}}
{{- end -}}

{{/* URL at which pods reach the gateways, without a trailing slash. */}}
{{- define "standin.gatewayServiceUrl" -}}
{{- $port := int .Values.gateway.service.port -}}
{{- $host := printf "%s-gateway.%s.svc.%s" (include "standin.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- eq $port 80 | ternary (printf "http://%s" $host) (printf "http://%s:%d" $host $port) -}}
{{- end -}}

{{/* URL of the config stream, which gateways also use for other requests to operators. */}}
{{- define "standin.operatorUrl" -}}
{{- printf "https://%s-operator.%s.svc.%s:9443" (include "standin.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{/*
URL of the Ingress or HTTPRoute: the first host name without a wildcard. Empty if there is none. Call with the component's values.
*/}}
{{- define "standin.publicUrl" -}}
{{- if .url -}}
{{- .url -}}
{{- else if or .ingress.enabled .httpRoute.enabled -}}
{{- $urls := list -}}
{{- if .ingress.enabled -}}
{{- range prepend .ingress.extraHosts (pick .ingress "host" "tlsSecret") -}}
{{- $urls = append $urls (printf "%s://%s" (ternary "https" "http" (not (empty .tlsSecret))) .host) -}}
{{- end -}}
{{- else -}}
{{- range .httpRoute.hostnames -}}
{{- $urls = append $urls (printf "https://%s" .) -}}
{{- end -}}
{{- end -}}
{{- range $url := $urls -}}
{{- if not (contains "*" $url) -}}
{{- $url -}}
{{- break -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "standin.sessionSecret" -}}
{{- default (printf "%s-dashboard-session" (include "standin.fullname" .)) .Values.dashboard.session.existingSecret -}}
{{- end -}}

{{/* URL at which callers reach the gateways. */}}
{{- define "standin.gatewayUrl" -}}
{{- default (include "standin.gatewayServiceUrl" .) (include "standin.publicUrl" .Values.gateway) -}}
{{- end -}}
