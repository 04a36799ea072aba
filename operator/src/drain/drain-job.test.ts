import { expect, test } from 'vitest';
import { drainJob, parseJobTemplate, toDrainJob } from './drain-job.ts';

const TEMPLATE = `
apiVersion: batch/v1
kind: Job
metadata:
  generateName: standin-drain-
  labels: { app: standin }
spec:
  backoffLimit: 10
  template:
    metadata:
      labels: { app: standin }
    spec:
      restartPolicy: OnFailure
      containers: [{ name: drain, image: standin }]
      volumes:
        - name: data
          persistentVolumeClaim: { claimName: CLAIM, readOnly: false }
        - name: other
          persistentVolumeClaim: { claimName: other }
        - name: tmp
          emptyDir: {}
`;
const CLAIM = { metadata: { name: 'data-standin-gateway-3', uid: '9c4b' } };
const OPTIONS = { namespace: 'standin-system', statefulSet: 'standin-gateway', use: 'set/5' };

test('a Job is built from the template with the claim’s name, and the claim owns it', () => {
  const label = { app: 'standin', 'standin.dev/claim-uid': '9c4b' };
  expect(drainJob(parseJobTemplate(TEMPLATE), CLAIM, OPTIONS)).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^standin-gateway-drain-[0-9a-f]{12}$/) as string,
      namespace: 'standin-system',
      labels: label,
      annotations: { 'standin.dev/claim': 'data-standin-gateway-3', 'standin.dev/drained-for': 'set/5' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'data-standin-gateway-3', uid: '9c4b' },
      ],
    },
    spec: {
      backoffLimit: 10,
      template: {
        metadata: { labels: label },
        spec: {
          containers: [{ name: 'drain', image: 'standin' }],
          volumes: [
            { name: 'data', persistentVolumeClaim: { claimName: 'data-standin-gateway-3', readOnly: false } },
            { name: 'other', persistentVolumeClaim: { claimName: 'other' } },
            { name: 'tmp', emptyDir: {} },
          ],
        },
      },
    },
  });
});

test('each use of a claim has its own Job name, which fits in a label', () => {
  const template = parseJobTemplate(TEMPLATE);
  const jobName = (options: Partial<typeof OPTIONS>, claim = CLAIM): string =>
    (drainJob(template, claim, { ...OPTIONS, ...options }) as { metadata: { name: string } }).metadata.name;
  expect(jobName({})).toBe(jobName({}));
  expect(jobName({ use: 'set/6' })).not.toBe(jobName({}));
  expect(jobName({}, { metadata: { ...CLAIM.metadata, uid: 'another' } })).not.toBe(jobName({}));
  expect(jobName({ statefulSet: 'x'.repeat(60) }).length).toBeLessThanOrEqual(63);
});

test.for([
  ['kind: Job\n', 'apiVersion'],
  ['', 'expected object'],
  [TEMPLATE.replace('claimName: CLAIM', 'claimName: data'), 'claimName: CLAIM'],
] as const)('an invalid template is rejected with a reason: %#', ([text, problem]) => {
  expect(() => parseJobTemplate(text)).toThrow(problem);
});

test.for([
  [undefined, 'running'],
  [[{ type: 'Suspended', status: 'True' }], 'running'],
  // A Job whose last pods are still terminating.
  [[{ type: 'FailureTarget', status: 'True' }], 'running'],
  [[{ type: 'Complete', status: 'False' }], 'running'],
  [[{ type: 'Complete', status: 'True' }], 'succeeded'],
  [[{ type: 'Failed', status: 'True' }], 'failed'],
] as const)('a Job with the conditions %j is %s', ([conditions, state]) => {
  expect(toDrainJob({ metadata: { name: 'a' }, status: { conditions } }).state).toBe(state);
});
