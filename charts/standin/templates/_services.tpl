{{/* The Service of a component that callers or browsers reach. Call with (dict "root" $ "component" "gateway"). */}}
{{- define "standin.publicService" -}}
{{- $service := (index .root.Values .component).service -}}
{{- /* The API server rejects these fields for other types. */ -}}
{{- if and $service.externalTrafficPolicy (eq $service.type "ClusterIP") -}}
{{- fail (printf "%s.service.externalTrafficPolicy requires %s.service.type NodePort or LoadBalancer" .component .component) -}}
{{- end -}}
{{- range $name := list "loadBalancerClass" "loadBalancerSourceRanges" -}}
{{- if and (index $service $name) (ne $service.type "LoadBalancer") -}}
{{- fail (printf "%s.service.%s requires %s.service.type LoadBalancer" $.component $name $.component) -}}
{{- end -}}
{{- end -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "standin.metadata" (dict "root" .root "component" .component "annotations" $service.annotations) | nindent 2 }}
spec:
  type: {{ $service.type }}
  {{- range $name := list "externalTrafficPolicy" "loadBalancerClass" "loadBalancerSourceRanges" }}
  {{- with index $service $name }}
  {{ $name }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  selector:
    {{- include "standin.selectorLabels" . | nindent 4 }}
  ports:
    - { name: http, port: {{ $service.port }}, targetPort: http }
{{- end -}}

{{/* Addresses each pod of a component individually, for metrics and for the DNS names of a StatefulSet's pods. */}}
{{- define "standin.podsService" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "standin.componentName" . }}-pods
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "standin.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "standin.selectorLabels" . | nindent 4 }}
  ports:
    - { name: metrics, port: 9090, targetPort: metrics }
{{- end -}}
