{{/* What every pod has. Call with (dict "root" $ "component" "gateway" "usesApi" false). */}}
{{- define "standin.podSpec" -}}
{{- $values := index .root.Values .component -}}
serviceAccountName: {{ include "standin.componentName" . }}
automountServiceAccountToken: {{ .usesApi }}
# Kubernetes would add STANDIN_…_SERVICE_HOST for each Service beside, and a process refuses settings that it does not know.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
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
topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
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

{{- define "standin.podMetadata" -}}
{{- $values := index .root.Values .component -}}
# Without the chart's version, which is no reason to replace a pod.
labels:
  {{- include "standin.selectorLabels" . | nindent 2 }}
  {{- with .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Image, rights and resources of a component's container. */}}
{{- define "standin.container" -}}
{{- $values := index .root.Values .component -}}
image: {{ include "standin.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "standin.containerSecurityContext" . | nindent 2 }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
{{- end -}}

{{- define "standin.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Settings from values, and the environment that people add. */}}
{{- define "standin.componentEnv" -}}
{{- $values := index .root.Values .component -}}
{{- include "standin.settingsEnv" (dict "settings" $values.settings "prefix" "STANDIN") }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "standin.extraVolumeMounts" -}}
- { name: tmp, mountPath: /tmp }
{{- with (index .root.Values .component).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "standin.extraVolumes" -}}
- name: tmp
  emptyDir: {}
{{- with (index .root.Values .component).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
