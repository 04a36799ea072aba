{{- define "standin.drainJob" -}}
{{- $gateway := dict "root" . "component" "gateway" -}}
{{- $values := pick .Values.gateway "nodeSelector" "tolerations" "resources" "extraEnvFrom" -}}
{{- /* The gateways' ServiceAccount has no permissions. */ -}}
{{- $account := include "standin.serviceAccountName" $gateway -}}
{{- $call := dict "root" . "component" "drain" "values" $values "serviceAccount" $account "usesApi" false -}}
apiVersion: batch/v1
kind: Job
metadata:
  generateName: {{ include "standin.fullname" . }}-drain-
  namespace: {{ .Release.Namespace | quote }}
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
      {{- include "standin.podSpec" $call | nindent 6 }}
      containers:
        - name: drain
          {{- include "standin.container" $call | nindent 10 }}
          command: [node, cli/bin/standin.js, admin, drain]
          args:
            - /var/lib/standin-gateway/spool
            - --expect-empty
            - --quiet-seconds={{ int64 .Values.drain.orphans.quietSeconds }}
            {{- if eq (include "standin.clickhouseMigrate" .) "false" }}
            - --no-migrate
            {{- end }}
          env:
            {{- include "standin.clickhouseEnv" $gateway | trim | nindent 12 }}
            # Receives a report of the delivery, so that the gateway's unused quota permits are given back.
            - name: STANDIN_OPERATOR_URLS
              value: {{ include "standin.operatorUrl" . }}
            - name: STANDIN_OPERATOR_TLS_DIR
              value: /etc/standin/stream-tls
            {{- with .Values.gateway.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          volumeMounts:
            - { name: data, mountPath: /var/lib/standin-gateway }
            - { name: stream-tls, mountPath: /etc/standin/stream-tls, readOnly: true }
            {{- include "standin.clickhouseMount" $gateway | trim | nindent 12 }}
            {{- include "standin.extraVolumeMounts" $gateway | nindent 12 }}
      volumes:
        - name: data
          persistentVolumeClaim: { claimName: CLAIM }
        {{- include "standin.gatewayTlsVolume" . | nindent 8 }}
        {{- include "standin.clickhouseVolume" $gateway | trim | nindent 8 }}
        {{- include "standin.extraVolumes" $gateway | nindent 8 }}
{{- end -}}
