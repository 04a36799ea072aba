import { OF_NAMESPACE, ROWS, WHERE, type Panel } from './grafana-rows.ts';

interface Threshold {
  /** The color from `value` on. */
  readonly color: 'green' | 'orange' | 'red';
  /** Null for the first threshold, which has no lower bound. */
  readonly value: number | null;
}

const GRAPH = { columns: 2, height: 8 };
const STAT = { columns: 6, height: 4 };
const WIDTH = 24;
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' };

const thresholdSteps = ({ bad }: Panel): readonly Threshold[] => [
  { color: 'green', value: null },
  ...(bad?.orange === undefined ? [] : [{ color: 'orange', value: bad.orange } as const]),
  ...(bad === undefined ? [] : [{ color: 'red', value: bad.red } as const]),
];

const grafanaPanel = (panel: Panel, gridPos: object) => ({
  type: panel.isStat === true ? 'stat' : 'timeseries',
  title: panel.title,
  description: panel.description,
  datasource: DATA_SOURCE,
  gridPos,
  fieldConfig: {
    defaults: {
      unit: panel.unit,
      min: 0,
      thresholds: { mode: 'absolute', steps: thresholdSteps(panel) },
      ...(panel.isStat === true
        ? { color: { mode: 'thresholds' } }
        : { custom: { thresholdsStyle: { mode: panel.bad === undefined ? 'off' : 'dashed' } } }),
    },
    overrides: [],
  },
  ...(panel.isStat === true && { options: { colorMode: 'value', textMode: 'auto' } }),
  targets: Object.entries(panel.queries).map(([legendFormat, expr], at) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + at),
    datasource: DATA_SOURCE,
    expr,
    legendFormat,
  })),
});

/** Returns the panels of all rows, each below the heading of its row. */
const panels = (): readonly object[] => {
  const placed: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    placed.push({ type: 'row', title: row.title, collapsed: false, gridPos: { x: 0, y, w: WIDTH, h: 1 }, panels: [] });
    y += 1;
    const { columns, height } = row.panels.every(({ isStat }) => isStat === true) ? STAT : GRAPH;
    const w = WIDTH / columns;
    for (const [index, panel] of row.panels.entries()) {
      const line = Math.floor(index / columns);
      placed.push(grafanaPanel(panel, { x: (index % columns) * w, y: y + line * height, w, h: height }));
    }
    y += Math.ceil(row.panels.length / columns) * height;
  }
  return placed.map((panel, index) => ({ id: index + 1, ...panel }));
};

/** Returns a variable with the values of a label. The dashboard's user can select several, and all by default. */
const labelVariable = (name: string, label: string, query: string) => ({
  name,
  label,
  type: 'query',
  datasource: DATA_SOURCE,
  query,
  refresh: 2,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
});

/** Returns the Grafana dashboard for an installation's gateways, operators and dashboards. */
export const grafanaDashboard = (): Readonly<Record<string, unknown>> => ({
  uid: 'standin',
  title: 'Standin',
  description: 'Requests, log delivery and configuration of a Standin installation.',
  tags: ['standin'],
  schemaVersion: 39,
  editable: true,
  graphTooltip: 1,
  time: { from: 'now-1h', to: 'now' },
  refresh: '30s',
  links: [
    { title: 'Alerts', type: 'link', url: '/alerting/list?search=Standin', icon: 'bell', targetBlank: true },
    { title: 'Other Standin dashboards', type: 'dashboards', tags: ['standin'], asDropdown: true, includeVars: true },
  ],
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      {
        name: 'namespace',
        label: 'Installation',
        type: 'query',
        datasource: DATA_SOURCE,
        query: 'label_values(standin_build_info, namespace)',
        refresh: 2,
      },
      labelVariable('gateway', 'Gateway', `label_values(standin_config_connected{${WHERE}}, pod)`),
      labelVariable(
        'project_namespace',
        'Namespace of projects',
        `label_values(standin_respond_project_requests_total{${WHERE}}, exported_namespace)`,
      ),
      labelVariable(
        'project',
        'Project',
        `label_values(standin_respond_project_requests_total{${WHERE},${OF_NAMESPACE}}, project)`,
      ),
    ],
  },
  panels: panels(),
});
