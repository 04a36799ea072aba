{{/* The alerts. The template of the PrometheusRule adds their runbook_url. */}}
{{- define "standin.alerts" -}}
{{- $spool := .Values.gateway.settings.spool | default dict }}
{{- $spoolBytes := ternary $spool.bytes 2147483648 (hasKey $spool "bytes") | int64 }}
{{- $where := printf "namespace=%q" .Release.Namespace }}
rules:
  - alert: StandinRequestsRefused
    expr: standin_record_full{{ printf "{%s}" $where }} > 0 or increase(standin_shares_refused_total{{ printf "{%s,pool=\"disk\"}" $where }}[5m]) > 0
    for: 1m
    labels: { severity: critical }
    annotations:
      summary: {{ `{{ $labels.pod }} rejects requests with 503 because its spool or its disk is full or does not respond, or a namespace has used up its share` | quote }}
      description: Restore ClickHouse, or increase the volume and gateway.settings.spool.bytes (docs/guides/upgrade.md, Larger volumes).
  - alert: StandinSpoolFilling
    expr: standin_deliver_backlog_bytes{{ printf "{%s}" $where }} > {{ div $spoolBytes 2 }}
    for: 5m
    labels: { severity: warning }
    annotations:
      summary: {{ `The spool on {{ $labels.pod }} is more than half full` | quote }}
      description: Requests to a namespace are rejected when its rows take four times as much as is free. standin_deliver_failing_seconds shows whether ClickHouse accepts rows.
  - alert: StandinClickHouseFailing
    expr: standin_deliver_failing_seconds{{ printf "{%s}" $where }} > 120
    labels: { severity: warning }
    annotations:
      summary: {{ `ClickHouse has not accepted rows from {{ $labels.pod }} for {{ $value | humanizeDuration }}` | quote }}
      description: Rows are waiting on the gateway's disk. The gateway's log contains the error.
  - alert: StandinQuarantine
    expr: standin_deliver_quarantine{{ printf "{%s}" $where }} > 0
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $value }} rows from {{ $labels.pod }} cannot be delivered` | quote }}
      description: They stay on its volume until an administrator handles them (docs/internals/durability.md, Quarantine).
  - alert: StandinDiskFailing
    expr: increase(standin_record_failures_total{{ printf "{%s}" $where }}[10m]) > 0
    labels: { severity: critical }
    annotations:
      summary: {{ `The disk on {{ $labels.pod }} rejects writes` | quote }}
      description: Requests that could not be written were rejected with 503. Check the volume.
  - alert: StandinConfigStale
    expr: standin_config_connected{{ printf "{%s}" $where }} == 0
    for: 5m
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $labels.pod }} has no config stream` | quote }}
      description: It uses its last configuration and receives no changes. Check the operators.
  - alert: StandinNoGateway
    expr: absent(standin_config_connected{{ printf "{%s}" $where }})
    for: 2m
    labels: { severity: critical }
    annotations:
      summary: No gateway is running
      description: No gateway exists, or Prometheus does not scrape its metrics.
  - alert: StandinObjectsRejected
    expr: standin_config_rejected_objects{{ printf "{%s}" $where }} > 0
    for: 5m
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $labels.pod }} cannot serve {{ $value }} objects` | quote }}
      description: Their conditions show the reason (kubectl get standin -A).
  - alert: StandinQuotaNearlyUsedUp
    expr: max by (exported_namespace, account) (standin_quota_accepted{{ printf "{%s}" $where }} / standin_quota_limit{{ printf "{%s}" $where }}) >= 0.8
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $labels.exported_namespace }}/{{ $labels.account }} has used {{ $value | humanizePercentage }} of its monthly quota` | quote }}
      description: When the quota is used up, requests are rejected with 429 until next month. To prevent that, increase the Account's monthlyQuota.
  - alert: StandinQuotaMismatch
    expr: max(standin_quota_mismatches{{ printf "{%s}" $where }}) > 0
    labels: { severity: warning }
    annotations:
      summary: {{ `The log of {{ $value }} accounts has more requests than their quotas granted` | quote }}
      description: A ledger was edited, or Standin has a bug. The leader's log names the accounts (QuotaMismatch). Please report it.
  - alert: StandinVolumeNotDrained
    expr: sum(standin_drain_volumes{{ printf "{state=~\"quiet|queued|start|draining|failed\",%s}" $where }}) > 0
    for: 1h
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $value }} volumes of removed gateways are not drained yet` | quote }}
      description: The Events of their claims show the reason (kubectl describe pvc; docs/guides/install.md, Fewer gateways).
  - alert: StandinNoLeader
    expr: max(leader_election_master_status{{ printf "{%s}" $where }}) < 1 or absent(leader_election_master_status{{ printf "{%s}" $where }})
    for: 1m
    labels: { severity: critical }
    annotations:
      summary: No operator is the leader
      description: Changes are not published, and keys are not regenerated. Gateways keep their last configuration.
  - alert: StandinWatchStale
    expr: max by (pod, resource) (standin_reflector_last_sync_seconds{{ printf "{%s}" $where }}) > 300
    labels: { severity: warning }
    annotations:
      summary: {{ `{{ $labels.pod }} has not received {{ $labels.resource }} events from the API server for 5 minutes` | quote }}
      description: A healthy watch receives an event at least every 90 seconds.
  - alert: StandinServerErrors
    # Requests that the gateways themselves refuse with a status of 5xx. Mocks and upstreams may return 5xx on purpose.
    expr: >-
      sum(rate(standin_receive_rejections_total{{ printf "{code=~\"log_unavailable|not_ready|overloaded|quota_unavailable\",%s}" $where }}[5m]))
      / ((sum(rate(standin_respond_requests_total{{ printf "{%s}" $where }}[5m])) or vector(0)) + sum(rate(standin_receive_rejections_total{{ printf "{%s}" $where }}[5m])))
      > 0.01
    for: 5m
    labels: { severity: critical }
    annotations:
      summary: {{ `The gateways reject {{ $value | humanizePercentage }} of all requests with a status of 5xx` | quote }}
      description: standin_receive_rejections_total shows the error codes (docs/reference/errors.md).
  - alert: StandinSlowResponses
    expr: histogram_quantile(0.99, sum by (le) (rate(standin_respond_duration_seconds_bucket{{ printf "{action=\"JSON\",%s}" $where }}[5m]))) > 0.5
    for: 10m
    labels: { severity: warning }
    annotations:
      summary: {{ `One percent of all mocks take longer than {{ $value | humanizeDuration }}` | quote }}
      description: Configured delays are not included. A mock is returned after its request is on disk, so slow disks and a lack of CPU delay it.
  - alert: StandinDashboardErrors
    expr: >-
      sum(rate(standin_dashboard_responses_total{{ printf "{status=\"5xx\",%s}" $where }}[5m]))
      / sum(rate(standin_dashboard_responses_total{{ printf "{%s}" $where }}[5m])) > 0.05
    for: 10m
    labels: { severity: warning }
    annotations:
      summary: {{ `The dashboard responds to {{ $value | humanizePercentage }} of all requests with a status of 5xx` | quote }}
      description: Usually, ClickHouse or the API server does not respond. The dashboard's log contains the errors.
  - alert: StandinCertificateExpiring
    expr: standin_stream_certificate_expiry_timestamp_seconds{{ printf "{%s}" $where }} - time() < 7 * 86400
    labels: { severity: warning }
    annotations:
      summary: {{ `The certificate of {{ $labels.pod }} for the config stream expires in {{ $value | humanizeDuration }}` | quote }}
      description: Certificates are renewed weeks before they expire. Without a valid certificate, the gateway receives no changes.
{{- end -}}
