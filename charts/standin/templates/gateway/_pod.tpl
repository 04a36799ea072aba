{{/* Shared by the StatefulSet and the Deployment, which add the "data" volume. */}}
{{- define "standin.gatewayPod" -}}
{{- $call := dict "root" . "component" "gateway" "usesApi" false "port" "metrics" "ready" "/readyz" -}}
{{- $settings := .Values.gateway.settings -}}
{{- $drainMs := ternary $settings.drainMs 5000 (hasKey $settings "drainMs") | int64 -}}
{{- $drainTimeoutMs := ternary $settings.drainTimeoutMs 20000 (hasKey $settings "drainTimeoutMs") | int64 -}}
{{- $grace := int64 .Values.gateway.terminationGracePeriodSeconds -}}
{{- if lt (mul 1000 $grace) (add $drainMs $drainTimeoutMs $drainTimeoutMs) -}}
{{- fail (printf "gateway.terminationGracePeriodSeconds is %d: shorter than drainMs + 2 × drainTimeoutMs in gateway.settings, so gateways would be killed while they drain" $grace) -}}
{{- end -}}
{{- $spool := $settings.spool | default dict -}}
{{- $spoolBytes := addf (ternary $spool.bytes 2147483648 (hasKey $spool "bytes")) (ternary $spool.reserveBytes 268435456 (hasKey $spool "reserveBytes")) -}}
{{- $persistence := .Values.gateway.persistence -}}
{{- if lt (float64 (include "standin.quantity" $persistence.size)) $spoolBytes -}}
{{- fail (printf "gateway.persistence.size is %v: less than the sum of spool.bytes and spool.reserveBytes in gateway.settings (%.0f bytes), so answered requests would be lost" $persistence.size $spoolBytes) -}}
{{- end -}}
{{- if not $persistence.enabled -}}
{{- $requests := dict "resources" (dict "requests" (dict "ephemeral-storage" $persistence.size)) -}}
{{- $_ := set $call "values" (mergeOverwrite $requests (deepCopy .Values.gateway)) -}}
{{- end -}}
metadata:
  {{- include "standin.podMetadata" $call | nindent 2 }}
spec:
  {{- include "standin.podSpec" $call | nindent 2 }}
  terminationGracePeriodSeconds: {{ $grace }}
  containers:
    - name: gateway
      {{- include "standin.container" $call | nindent 6 }}
      # On SIGTERM, the gateway keeps serving until load balancers have noticed (drainMs), finishes its requests, and delivers its spool.
      command: [node, --max-semi-space-size=16, gateway/src/main.ts]
      env:
        {{- include "standin.podNameEnv" . | nindent 8 }}
        - name: STANDIN_HOST
          value: {{ .Values.listenHost | quote }}
        - name: STANDIN_ADMIN_HOST
          value: {{ .Values.listenHost | quote }}
        - name: STANDIN_DATA_DIR
          value: /var/lib/standin-gateway
        - name: STANDIN_OPERATOR_URLS
          value: {{ include "standin.operatorUrl" . }}
        - name: STANDIN_OPERATOR_TLS_DIR
          value: /etc/standin/stream-tls
        {{- include "standin.egressEnv" . | trim | nindent 8 }}
        {{- include "standin.clickhouseEnv" $call | trim | nindent 8 }}
        - name: STANDIN_CLICKHOUSE_MIGRATE
          value: {{ include "standin.clickhouseMigrate" . | quote }}
        {{- include "standin.componentEnv" $call | trim | nindent 8 }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: 9090 }
      # The gateway is ready when it has a configuration, unless its spool is full or it is draining.
      {{- include "standin.probes" $call | nindent 6 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/standin-gateway }
        - { name: stream-tls, mountPath: /etc/standin/stream-tls, readOnly: true }
        {{- include "standin.clickhouseMount" $call | trim | nindent 8 }}
        {{- include "standin.extraVolumeMounts" $call | nindent 8 }}
    {{- include "standin.extraContainers" $call | nindent 4 }}
  volumes:
    {{- include "standin.gatewayTlsVolume" . | nindent 4 }}
    {{- include "standin.clickhouseVolume" $call | trim | nindent 4 }}
    {{- include "standin.extraVolumes" $call | nindent 4 }}
{{- end -}}
