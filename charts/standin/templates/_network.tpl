{{- define "standin.metricsIngress" -}}
- ports: [{ port: metrics, protocol: TCP }]
  {{- with .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "standin.dnsEgress" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end -}}

{{/* Everything but the link-local addresses, where clouds keep a node's credentials. */}}
{{- define "standin.anyEgress" -}}
- to:
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
    - ipBlock: { cidr: '::/0', except: ['fe80::/10'] }
{{- end -}}
