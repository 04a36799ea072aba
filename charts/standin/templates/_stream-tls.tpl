{{/* The gateways' side of the config stream: ca.crt, tls.crt and tls.key. The pod waits for the Secret. */}}
{{- define "standin.gatewayTlsVolume" -}}
- name: stream-tls
  secret:
    {{- if .Values.tls.certManager.enabled }}
    secretName: {{ include "standin.fullname" . }}-gateway-tls
    defaultMode: 0440
    {{- else }}
    # The operator creates this Secret. It also contains the CA's key, which is not mounted.
    secretName: {{ include "standin.fullname" . }}-stream-tls
    defaultMode: 0440
    items:
      - { key: ca.crt, path: ca.crt }
      - { key: gateway.crt, path: tls.crt }
      - { key: gateway.key, path: tls.key }
    {{- end }}
{{- end -}}

{{/* The dashboard's side. Optional, because an operator of an earlier version does not create this certificate. */}}
{{- define "standin.dashboardTlsVolume" -}}
- name: stream-tls
  secret:
    {{- if .Values.tls.certManager.enabled }}
    secretName: {{ include "standin.fullname" . }}-dashboard-tls
    defaultMode: 0440
    {{- else }}
    secretName: {{ include "standin.fullname" . }}-stream-tls
    defaultMode: 0440
    items:
      - { key: ca.crt, path: ca.crt }
      - { key: dashboard.crt, path: tls.crt }
      - { key: dashboard.key, path: tls.key }
    {{- end }}
    optional: true
{{- end -}}

{{/* The operator's side, if cert-manager issues the certificates: variable, volume and mount. Empty if the operator creates them. */}}
{{- define "standin.operatorTlsEnv" -}}
{{- if .Values.tls.certManager.enabled }}
- name: STANDIN_STREAM_CERTIFICATE_DIR
  value: /etc/standin/stream-tls
{{- end }}
{{- end -}}

{{- define "standin.operatorTlsVolume" -}}
{{- if .Values.tls.certManager.enabled }}
- name: stream-tls
  secret: { secretName: {{ include "standin.fullname" . }}-operator-tls, defaultMode: 0440 }
{{- end }}
{{- end -}}

{{- define "standin.operatorTlsMount" -}}
{{- if .Values.tls.certManager.enabled }}
- { name: stream-tls, mountPath: /etc/standin/stream-tls, readOnly: true }
{{- end }}
{{- end -}}
