{{- define "standin.drainJob" -}}
{{- $call := dict "root" . "component" "drain" -}}
apiVersion: batch/v1
kind: Job
metadata:
  generateName: {{ include "standin.fullname" . }}-drain-
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "standin.labels" $call | nindent 4 }}
spec:
  backoffLimit: 10
  # The Job's log is available for a day. After that, a failed Job is retried.
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        {{- include "standin.labels" $call | nindent 8 }}
    spec:
      restartPolicy: OnFailure
      # This ServiceAccount has no rights.
      serviceAccountName: {{ include "standin.componentName" (dict "root" . "component" "gateway") }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with .Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.gateway.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.gateway.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "standin.podSecurityContext" . | nindent 8 }}
      containers:
        - name: drain
          image: {{ include "standin.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [node, cli/bin/standin.js, drain]
          args:
            - /var/lib/standin-gateway/spool
            - --expect-empty
            - --quiet-seconds={{ int64 .Values.drain.orphans.quietSeconds }}
            {{- if eq (include "standin.clickhouseMigrate" .) "false" }}
            - --no-migrate
            {{- end }}
          env:
            {{- include "standin.clickhouseEnv" (dict "root" . "component" "gateway") | trim | nindent 12 }}
            # Receives a report of the delivery, so that the gateway's unused quota permits are given back.
            - name: STANDIN_OPERATOR_URLS
              value: {{ include "standin.operatorUrl" . }}
            - name: STANDIN_OPERATOR_TLS_DIR
              value: /etc/standin/stream-tls
            {{- with .Values.gateway.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          securityContext:
            {{- include "standin.containerSecurityContext" . | nindent 12 }}
          resources:
            {{- toYaml .Values.gateway.resources | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /var/lib/standin-gateway }
            - { name: stream-tls, mountPath: /etc/standin/stream-tls, readOnly: true }
            {{- include "standin.extraVolumeMounts" (dict "root" . "component" "gateway") | nindent 12 }}
      volumes:
        - name: data
          persistentVolumeClaim: { claimName: CLAIM }
        {{- include "standin.gatewayTlsVolume" . | nindent 8 }}
        {{- include "standin.extraVolumes" (dict "root" . "component" "gateway") | nindent 8 }}
{{- end -}}
