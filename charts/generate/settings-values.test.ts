import { describeSettings } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { CHART_COMPONENTS, chartSettings, type ChartComponentName } from './settings-values.ts';

describe.for(Object.keys(CHART_COMPONENTS) as ChartComponentName[])('the settings of the %s', (component) => {
  const { schema, byTemplate } = CHART_COMPONENTS[component];
  const paths = describeSettings(schema).map(({ path }) => path);

  it('exist if the templates set them', () => {
    const stale = byTemplate.filter((entry) =>
      entry.endsWith('.') ? !paths.some((path) => path.startsWith(entry)) : !paths.includes(entry),
    );
    expect(stale).toEqual([]);
  });

  it('are values, unless the templates set them', () => {
    const values = chartSettings(component).map(({ path }) => path);
    expect(values).toContain('logLevel');
    const isSecret = (path: string): boolean => /password|secret$|key$/i.test(path);
    expect(values.filter(isSecret)).toEqual([]);
  });
});
