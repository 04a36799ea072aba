interface Panel {
  readonly title: string;
  readonly unit: string;
  /** PromQL queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
}

const WHERE = 'namespace="$namespace"';

const PANELS: readonly Panel[] = [
  {
    title: 'Accepted requests',
    unit: 'reqps',
    queries: { '{{status}}': `sum by (status) (rate(standin_respond_answers_total{${WHERE}}[$__rate_interval]))` },
  },
  {
    title: 'Rejected requests',
    unit: 'reqps',
    queries: { '{{code}}': `sum by (code) (rate(standin_receive_rejections_total{${WHERE}}[$__rate_interval]))` },
  },
  {
    title: 'Response time, 95th percentile',
    unit: 's',
    queries: {
      '{{action}}': `histogram_quantile(0.95, sum by (action, le) (rate(standin_respond_duration_seconds_bucket{${WHERE}}[$__rate_interval])))`,
    },
  },
  {
    title: 'Running requests and connections',
    unit: 'short',
    queries: {
      'requests {{pod}}': `standin_receive_running_requests{${WHERE}}`,
      'connections {{pod}}': `standin_receive_connections{${WHERE}}`,
    },
  },
  {
    title: 'Spool: undelivered',
    unit: 'bytes',
    queries: { '{{pod}}': `standin_deliver_backlog_bytes{${WHERE}}` },
  },
  {
    title: 'Free space on the spool’s disk',
    unit: 'bytes',
    queries: { '{{pod}}': `standin_record_disk_free_bytes{${WHERE}}` },
  },
  {
    title: 'Rows delivered to ClickHouse',
    unit: 'short',
    queries: {
      rows: `sum(rate(standin_deliver_rows_total{${WHERE}}[$__rate_interval]))`,
      'failed calls': `sum(rate(standin_deliver_failures_total{${WHERE}}[$__rate_interval]))`,
    },
  },
  { title: 'Quarantine', unit: 'short', queries: { '{{pod}}': `standin_deliver_quarantine{${WHERE}}` } },
  {
    title: 'Age of the configuration',
    unit: 's',
    queries: { '{{pod}}': `standin_config_age_seconds{${WHERE}}` },
  },
  {
    title: 'Time for a change to reach all gateways, 95th percentile',
    unit: 's',
    queries: {
      seconds: `histogram_quantile(0.95, sum by (le) (rate(standin_publish_programmed_seconds_bucket{${WHERE}}[$__rate_interval])))`,
    },
  },
  {
    title: 'Objects',
    unit: 'short',
    queries: { '{{kind}}': `max by (kind) (standin_translate_objects{${WHERE}})` },
  },
  {
    title: 'Leader',
    unit: 'short',
    queries: { '{{pod}}': `leader_election_master_status{${WHERE}}` },
  },
];

const COLUMNS = 2;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' };

const panel = ({ title, unit, queries }: Panel, index: number) => ({
  id: index + 1,
  type: 'timeseries',
  title,
  datasource: DATA_SOURCE,
  gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + at),
    datasource: DATA_SOURCE,
    expr,
    legendFormat,
  })),
});

/** Returns the Grafana dashboard for an installation's gateways and operators. */
export const grafanaDashboard = (): Readonly<Record<string, unknown>> => ({
  uid: 'standin',
  title: 'Standin',
  tags: ['standin'],
  schemaVersion: 39,
  editable: true,
  time: { from: 'now-1h', to: 'now' },
  refresh: '30s',
  templating: {
    list: [
      { name: 'datasource', type: 'datasource', query: 'prometheus' },
      {
        name: 'namespace',
        type: 'query',
        datasource: DATA_SOURCE,
        query: 'label_values(standin_config_objects, namespace)',
        refresh: 2,
      },
    ],
  },
  panels: PANELS.map(panel),
});
