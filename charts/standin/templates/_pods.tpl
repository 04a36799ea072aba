{{/*
The common part of all pods. Call with (dict "root" $ "component" "gateway" "usesApi" false). Optional: "values" instead of
.Values.<component>, "image" instead of .Values.image, "serviceAccount" instead of the component's own.
*/}}
{{- define "standin.podSpec" -}}
{{- $values := .values | default (index .root.Values .component) -}}
serviceAccountName: {{ .serviceAccount | default (include "standin.serviceAccountName" .) | quote }}
automountServiceAccountToken: {{ .usesApi }}
# Otherwise, Kubernetes adds STANDIN_…_SERVICE_HOST for each Service, and processes reject unknown settings.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "standin.podSecurityContext" .root | nindent 2 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else if $values.replicas }}
topologySpreadConstraints:
{{- $selector := include "standin.selectorLabels" . }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* OpenShift assigns IDs to each namespace, and rejects others. */}}
{{- define "standin.podSecurityContext" -}}
runAsNonRoot: true
{{- if not .Values.openshift.enabled }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "standin.podMetadata" -}}
{{- $values := .values | default (index .root.Values .component) -}}
# Does not include the chart version, because a new version alone must not replace pods.
labels:
  {{- include "standin.selectorLabels" . | nindent 2 }}
  {{- with merge (dict) ($values.podLabels | default dict) .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Replicas, revisions, update strategy and selector of a Deployment or StatefulSet. Call with "kind" and, optionally, "strategy",
which the value updateStrategy replaces.
*/}}
{{- define "standin.rollout" -}}
{{- $values := index .root.Values .component -}}
{{- if not (dig "autoscaling" "enabled" false $values) -}}
replicas: {{ int64 $values.replicas }}
{{- else }}
{{- with lookup "apps/v1" .kind .root.Release.Namespace (include "standin.componentName" .) }}
# Preserves the autoscaler's value. Without the field, Kubernetes would start with one replica.
replicas: {{ .spec.replicas }}
{{- end }}
{{- end }}
revisionHistoryLimit: {{ int64 $values.revisionHistoryLimit }}
{{- with $values.updateStrategy | default .strategy }}
{{ ternary "updateStrategy" "strategy" (eq $.kind "StatefulSet") }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
selector:
  matchLabels:
    {{- include "standin.selectorLabels" . | nindent 4 }}
{{- end -}}

{{/* Probes of a component's container. Call with "port" and "ready", the path of the readiness probe. */}}
{{- define "standin.probes" -}}
{{- $probes := (index .root.Values .component).probes -}}
{{- range $name, $path := dict "startup" "/healthz" "readiness" .ready "liveness" "/healthz" }}
{{ $name }}Probe:
  httpGet: { path: {{ $path }}, port: {{ $.port }} }
  {{- with index $probes $name }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The additional containers, after the component's own. */}}
{{- define "standin.extraContainers" -}}
{{- with (index .root.Values .component).extraContainers }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* Image, security context, resources and envFrom of a component's container. */}}
{{- define "standin.container" -}}
{{- $values := .values | default (index .root.Values .component) -}}
image: {{ include "standin.imageOf" (dict "root" .root "image" (.image | default .root.Values.image)) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "standin.containerSecurityContext" . | nindent 2 }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
{{- with $values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "standin.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Settings from values, and the additional environment. */}}
{{- define "standin.componentEnv" -}}
{{- $values := .values | default (index .root.Values .component) -}}
{{- include "standin.settingsEnv" (dict "settings" $values.settings "prefix" "STANDIN") }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "standin.extraVolumeMounts" -}}
- { name: tmp, mountPath: /tmp }
{{- with (.values | default (index .root.Values .component)).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "standin.extraVolumes" -}}
- name: tmp
  emptyDir: {}
{{- with (.values | default (index .root.Values .component)).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
