{{/* Without peers no rule: one without `from` lets everybody in. */}}
{{- define "standin.metricsIngress" -}}
{{- with .Values.networkPolicy.metricsFrom }}
- ports: [{ port: metrics, protocol: TCP }]
  from:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "standin.dnsEgress" -}}
{{- with .Values.networkPolicy.dnsPorts }}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- end -}}

{{/* Everything but the link-local addresses, where clouds keep a node's credentials. */}}
{{- define "standin.anyEgress" -}}
- to:
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
    - ipBlock: { cidr: '::/0', except: ['fe80::/10'] }
    # Pods again: Cilium does not take their addresses for any block's.
    - namespaceSelector: {}
{{- end -}}

{{/* By port alone: it may run on the nodes themselves, which are of no block for some network plugins. */}}
{{- define "standin.apiServerEgress" -}}
{{- with .Values.networkPolicy.apiServerPorts }}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- end -}}
