export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  /** PromQL queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
  /** The values from which the panel turns orange and red. Absent if no value is a problem. */
  readonly bad?: { readonly orange?: number; readonly red: number };
  /** Shows the current value instead of a graph. */
  readonly isStat?: boolean;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export const WHERE = 'namespace="$namespace"';
const GATEWAY = `${WHERE},pod=~"$gateway"`;
export const OF_NAMESPACE = 'exported_namespace=~"$project_namespace"';
const OF_PROJECT = `${GATEWAY},${OF_NAMESPACE},project=~"$project"`;
const PROJECT = '{{exported_namespace}}/{{project}}';

/** Returns the query of a quantile over the buckets of a histogram. */
const quantile = (share: number, by: string, metric: string, where: string): string =>
  `histogram_quantile(${share}, sum by (${by}le) (rate(${metric}_bucket{${where}}[$__rate_interval])))`;
const rate = (metric: string, where: string): string => `rate(${metric}{${where}}[$__rate_interval])`;

/** The rows of the Grafana dashboard, from top to bottom. */
export const ROWS: readonly Row[] = [
  {
    title: 'Overview',
    panels: [
      {
        title: 'Gateways connected',
        description: 'Gateways that receive changes. Others serve their last configuration.',
        unit: 'short',
        queries: { connected: `sum(standin_config_connected{${WHERE}})` },
        isStat: true,
      },
      {
        title: 'Leader',
        description: 'Must be 1. Without a leader, changes are not published.',
        unit: 'short',
        queries: { leader: `max(leader_election_master_status{${WHERE}})` },
        isStat: true,
      },
      {
        title: 'ClickHouse failing for',
        description: 'The longest time for which a gateway could not deliver rows. Rows wait on its disk.',
        unit: 's',
        queries: { seconds: `max(standin_deliver_failing_seconds{${WHERE}})` },
        bad: { orange: 1, red: 120 },
        isStat: true,
      },
      {
        title: 'First certificate expires in',
        description: 'The certificates of the config stream. They are renewed weeks before they expire.',
        unit: 's',
        queries: { seconds: `min(standin_stream_certificate_expiry_timestamp_seconds{${WHERE}}) - time()` },
        isStat: true,
      },
      {
        title: 'Versions',
        description: 'Running pods by component and version. During an upgrade, there are two versions.',
        unit: 'short',
        queries: { '{{component}} {{version}}': `count by (component, version) (standin_build_info{${WHERE}})` },
        isStat: true,
      },
      {
        title: 'Quarantine',
        description: 'Rows that ClickHouse will never accept. Must be 0.',
        unit: 'short',
        queries: { rows: `sum(standin_deliver_quarantine{${WHERE}})` },
        bad: { red: 1 },
        isStat: true,
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      {
        title: 'Accepted requests',
        description:
          'Responses to accepted requests, by the class of their status. Mocks and upstreams choose the status.',
        unit: 'reqps',
        queries: { '{{status}}': `sum by (status) (${rate('standin_respond_requests_total', GATEWAY)})` },
      },
      {
        title: 'Rejected requests',
        description: 'Requests that the gateway refused, by error code. They are not logged and not counted.',
        unit: 'reqps',
        queries: { '{{code}}': `sum by (code) (${rate('standin_receive_rejections_total', GATEWAY)})` },
      },
      {
        title: 'Response time, 95th percentile',
        description: 'By action. Forward includes the upstream. The configured delay of a mock is not included.',
        unit: 's',
        queries: { '{{action}}': quantile(0.95, 'action, ', 'standin_respond_duration_seconds', GATEWAY) },
        bad: { orange: 0.5, red: 2.5 },
      },
      {
        title: 'Running requests and connections',
        description: 'Open connections and requests in progress, per gateway.',
        unit: 'short',
        queries: {
          'requests {{pod}}': `standin_receive_running_requests{${GATEWAY}}`,
          'connections {{pod}}': `standin_receive_connections{${GATEWAY}}`,
        },
      },
    ],
  },
  {
    title: 'Requests by project',
    panels: [
      {
        title: 'Accepted requests by project',
        description: 'Responses to accepted requests, for Projects with spec.metrics: Enabled.',
        unit: 'reqps',
        queries: {
          [PROJECT]: `sum by (exported_namespace, project) (${rate('standin_respond_project_requests_total', OF_PROJECT)})`,
        },
      },
      {
        title: 'Rejected requests by project',
        description:
          'Requests to the URI of a project that the gateway refused, by error code, also without a valid key.',
        unit: 'reqps',
        queries: {
          [`${PROJECT} {{code}}`]: `sum by (exported_namespace, project, code) (${rate('standin_receive_project_rejections_total', OF_PROJECT)})`,
        },
      },
      {
        title: 'Share of responses with a status of 5xx',
        description: 'By project. Mocks and upstreams choose the status.',
        unit: 'percentunit',
        queries: {
          [PROJECT]:
            `sum by (exported_namespace, project) (${rate('standin_respond_project_requests_total', `${OF_PROJECT},status="5xx"`)})` +
            ` / sum by (exported_namespace, project) (${rate('standin_respond_project_requests_total', OF_PROJECT)})`,
        },
      },
      {
        title: 'Response time by project, 95th percentile',
        description: 'Forward includes the upstream. The configured delay of a mock is not included.',
        unit: 's',
        queries: {
          [PROJECT]: quantile(
            0.95,
            'exported_namespace, project, ',
            'standin_respond_project_duration_seconds',
            OF_PROJECT,
          ),
        },
      },
      {
        title: 'Requests without metrics of their project',
        description:
          'Requests to Projects with spec.metrics: Enabled beyond the 500 that a gateway counts. Should be 0.',
        unit: 'reqps',
        queries: { '{{pod}}': rate('standin_observe_uncounted_requests_total', GATEWAY) },
        bad: { orange: 0.001, red: 1 },
      },
    ],
  },
  {
    title: 'Log',
    panels: [
      {
        title: 'Spool: undelivered',
        description:
          'Bytes on the gateways’ disks that are not in ClickHouse yet. At spool.bytes, requests are rejected.',
        unit: 'bytes',
        queries: { '{{pod}}': `standin_deliver_backlog_bytes{${GATEWAY}}` },
      },
      {
        title: 'Free space on the spool’s disk',
        description: 'Below spool.reserveBytes, requests are rejected.',
        unit: 'bytes',
        queries: { '{{pod}}': `standin_record_disk_free_bytes{${GATEWAY}}` },
      },
      {
        title: 'Rows delivered to ClickHouse',
        description: 'Rows per second, and calls to ClickHouse that failed and are retried.',
        unit: 'short',
        queries: {
          rows: `sum(${rate('standin_deliver_rows_total', GATEWAY)})`,
          'failed calls': `sum(${rate('standin_deliver_failures_total', GATEWAY)})`,
        },
      },
      {
        title: 'Failed writes to the spool',
        description: 'Requests that could not be written to the disk were rejected with 503.',
        unit: 'short',
        queries: { '{{pod}}': rate('standin_record_failures_total', GATEWAY) },
      },
    ],
  },
  {
    title: 'Configuration',
    panels: [
      {
        title: 'Age of the configuration',
        description: 'Seconds since the last message from the operator. The stream sends one every few seconds.',
        unit: 's',
        queries: { '{{pod}}': `standin_config_age_seconds{${GATEWAY}}` },
        bad: { orange: 60, red: 300 },
      },
      {
        title: 'Time for a change to reach all gateways, 95th percentile',
        description: 'From the publication of a revision until all gateways have acknowledged it.',
        unit: 's',
        queries: { seconds: quantile(0.95, '', 'standin_publish_programmed_seconds', WHERE) },
        bad: { orange: 1, red: 10 },
      },
      {
        title: 'Objects',
        description: 'Known objects by kind, and objects that a gateway cannot serve.',
        unit: 'short',
        queries: {
          '{{kind}}': `max by (kind) (standin_translate_objects{${WHERE}})`,
          rejected: `max(standin_config_rejected_objects{${WHERE}})`,
        },
      },
      {
        title: 'Reconciliations that failed',
        description: 'By controller. They are retried with backoff. The operator’s log has the errors.',
        unit: 'short',
        queries: {
          '{{controller}}': `sum by (controller) (${rate('controller_runtime_reconcile_errors_total', WHERE)})`,
        },
      },
    ],
  },
  {
    title: 'Dashboard and processes',
    panels: [
      {
        title: 'Responses of the dashboard',
        description: 'Pages, API, shared links and assets, by the class of their status.',
        unit: 'reqps',
        queries: {
          '{{area}} {{status}}': `sum by (area, status) (${rate('standin_dashboard_responses_total', WHERE)})`,
        },
      },
      {
        title: 'Response time of the dashboard, 95th percentile',
        description: 'Most of it is the time of ClickHouse’s queries. Event streams are not included.',
        unit: 's',
        queries: { '{{area}}': quantile(0.95, 'area, ', 'standin_dashboard_duration_seconds', WHERE) },
        bad: { orange: 2.5, red: 10 },
      },
      {
        title: 'CPU',
        description: 'CPU cores in use, per pod.',
        unit: 'short',
        queries: { '{{pod}}': `${rate('process_cpu_seconds_total', WHERE)} and on (pod) standin_build_info{${WHERE}}` },
      },
      {
        title: 'Memory',
        description: 'Resident memory, per pod.',
        unit: 'bytes',
        queries: { '{{pod}}': `process_resident_memory_bytes{${WHERE}} and on (pod) standin_build_info{${WHERE}}` },
      },
    ],
  },
];
