import { drainJob, parseJobTemplate } from '../../operator/src/drain/drain-job.ts';
import type { RenderedObject } from './helm.ts';

/** Returns the Job template that the rendered chart mounts into the operator. */
export const drainTemplate = (objects: readonly RenderedObject[]): string => {
  const texts = objects.flatMap(
    ({ data }) => (data as Readonly<Record<string, string>> | undefined)?.['job.yaml'] ?? [],
  );
  const [text, ...more] = texts;
  if (text === undefined || more.length > 0) throw new Error(`${texts.length} drain Job templates instead of one`);
  return text;
};

/** Returns the Job that the operator creates from the template. */
export const renderedDrainJob = (objects: readonly RenderedObject[], namespace: string): RenderedObject => {
  const claim = { metadata: { name: 'data-standin-gateway-3', uid: '0cf1a2b6-0000-4000-8000-000000000000' } };
  const options = { namespace, statefulSet: 'standin-gateway', use: 'none' };
  return drainJob(parseJobTemplate(drainTemplate(objects)), claim, options) as RenderedObject;
};
