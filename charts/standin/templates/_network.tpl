{{/* Without peers, there is no rule, because a rule without `from` allows all peers. */}}
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

{{/* All addresses except link-local ones, where clouds serve a node's credentials. */}}
{{- define "standin.anyEgress" -}}
- to:
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
    - ipBlock: { cidr: '::/0', except: ['fe80::/10'] }
    # Includes pods, because IP blocks do not match pod addresses in Cilium.
    - namespaceSelector: {}
{{- end -}}

{{/* Matches only the port, because the API server may run on the nodes, which IP blocks do not match in some network plugins. */}}
{{- define "standin.apiServerEgress" -}}
{{- with .Values.networkPolicy.apiServerPorts }}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- end -}}

{{/* The port of a URL. */}}
{{- define "standin.urlPort" -}}
{{- $url := urlParse . -}}
{{- trimPrefix ":" (regexFind ":[0-9]+$" $url.host) | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}
