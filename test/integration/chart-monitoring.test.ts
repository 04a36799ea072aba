import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { REJECTIONS } from '@standin/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { headingSlug } from '../../docs/generate/heading-slug.ts';
import { CHARTS, parseObjects, renderChart } from '../harness/helm.ts';
import { sourceFiles } from '../suite/source-files.ts';

/** Tests the alerts, the Grafana dashboard, and the metrics that they use. */

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Target {
  readonly expr: string;
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly links: readonly object[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

const readRules = async (...set: string[]): Promise<readonly Rule[]> => {
  const on = ['crds.enabled=false', 'monitoring.prometheusRule.enabled=true', ...set];
  const found = parseObjects(await renderChart({ set: on })).find(({ kind }) => kind === 'PrometheusRule');
  return (found?.['spec'] as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
};

/** Returns the metrics of a PromQL expression. Throws if the expression is invalid. */
const metricNames = (expression: string): readonly string[] => {
  const metrics: string[] = [];
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError) throw new Error(`invalid PromQL at ${node.from}: ${expression}`);
      const isMetric = node.name === 'Identifier' && node.matchContext(['VectorSelector']);
      if (isMetric) metrics.push(expression.slice(node.from, node.to));
    },
  });
  return metrics;
};

/** Metrics that the default metrics of prom-client contain. */
const DEFAULT_METRICS = new Set(['process_cpu_seconds_total', 'process_resident_memory_bytes']);
const code = sourceFiles().filter(({ path: file }) =>
  /^(gateway|operator|dashboard|packages\/(kube|process))\/.*(?<!\.test)\.ts$/.test(file),
);
const isExported = (metric: string): boolean =>
  DEFAULT_METRICS.has(metric) || code.some(({ text }) => text.includes(`'${metric.replace(/_bucket$/, '')}'`));

const dashboard = JSON.parse(
  readFileSync(path.join(CHARTS, 'standin/files/grafana-dashboard.json'), 'utf8'),
) as Dashboard;

it('an invalid expression and an unknown metric are found, so the tests below can fail', () => {
  expect(() => metricNames('sum(rate(a[5m])')).toThrow('invalid PromQL');
  expect(metricNames('sum by (pod) (rate(a_total{namespace="x"}[5m])) / b')).toEqual(['a_total', 'b']);
  expect(isExported('standin_no_such_metric')).toBe(false);
});

describe('every alert', () => {
  let rules: readonly Rule[];
  beforeAll(async () => {
    rules = await readRules();
  });

  it('is a valid expression with metrics that a process exports', () => {
    expect(rules.length).toBeGreaterThan(15);
    const metrics = rules.flatMap(({ expr }) => metricNames(expr));
    expect(metrics.filter((metric) => !isExported(metric))).toEqual([]);
  });

  it('has a severity, a summary, a description and a runbook', () => {
    const [page = ''] = rules[0]?.annotations?.['runbook_url']?.split('#') ?? [];
    const text = readFileSync(path.join(CHARTS, '..', page), 'utf8');
    const headings = new Set([...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => headingSlug(heading)));
    const names = rules.map(({ alert = '' }) => alert);
    expect(rules.map(({ annotations }) => annotations?.['runbook_url'])).toEqual(
      names.map((name) => `${page}#${headingSlug(name)}`),
    );
    expect(headings).toEqual(new Set(names.map(headingSlug)));
    for (const { alert, labels, annotations } of rules) {
      expect(labels?.severity, alert).toMatch(/^(warning|critical)$/);
      expect([annotations?.['summary'], annotations?.['description']], alert).toEqual([
        expect.stringMatching(/\w/),
        expect.stringMatching(/\.$/),
      ]);
    }
  });

  it('for server errors names exactly the codes with a status of 5xx that are not the mistake of a user', () => {
    const expression = rules.find(({ alert }) => alert === 'StandinServerErrors')?.expr ?? '';
    const codes = /code=~"([^"]+)"/.exec(expression)?.[1]?.split('|');
    const expected = Object.entries(REJECTIONS).flatMap(([name, { status }]) =>
      status >= 500 && name !== 'endpoint_not_accepted' ? [name] : [],
    );
    expect(codes?.sort()).toEqual(expected.sort());
  });

  it('can have its runbook elsewhere, and is followed by the additional rules', async () => {
    const rule = 'monitoring.prometheusRule';
    const own = await readRules(`${rule}.runbookUrl=https://wiki.example`, `${rule}.extraRules[0].alert=Mine`);
    expect(own[0]?.annotations?.['runbook_url']).toBe('https://wiki.example#standinrequestsrefused');
    expect(own.at(-1)).toEqual({ alert: 'Mine' });
  });
});

describe('the Grafana dashboard', () => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');
  const variables = new Set(dashboard.templating.list.map(({ name }) => name));

  it('has valid expressions with metrics that a process exports, and no unknown variables', () => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(20);
    const metrics = expressions.flatMap((expr) => metricNames(expr.replaceAll('$__rate_interval', '5m')));
    const queried = dashboard.templating.list.flatMap(({ query }) => /label_values\((\w+)/.exec(query)?.[1] ?? []);
    expect([...metrics, ...queried].filter((metric) => !isExported(metric))).toEqual([]);
    const used = JSON.stringify(dashboard).match(/\$(?!__)\{?\w+/g) ?? [];
    expect(used.map((name) => name.replace(/[${]/g, '')).filter((name) => !variables.has(name))).toEqual([]);
  });

  it('has rows, links, descriptions, and panels that do not overlap', () => {
    expect(dashboard.panels.filter(({ type }) => type === 'row').length).toBeGreaterThan(3);
    expect(dashboard.links.length).toBeGreaterThan(0);
    expect(panels.filter(({ description = '' }) => !description.endsWith('.')).map(({ title }) => title)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

// Prometheus sets these labels to describe the scraped pod. It renames a metric's own label with such a name to exported_….
it('no metric has a label that the scrape sets', () => {
  const lists = code.flatMap(({ path: file, text }) =>
    [...text.matchAll(/labelNames(?::| =) \[([^\]]*)\]/g)].map(([, labels = '']) => ({ file, labels })),
  );
  expect(lists.length).toBeGreaterThan(10);
  const taken = /'(namespace|pod|container|service|endpoint|job|instance|node)'/;
  expect(lists.filter(({ labels }) => taken.test(labels))).toEqual([]);
});
