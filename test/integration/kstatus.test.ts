import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RESOURCES, type Condition, type Kind } from '@standin/contract';
import { conditionsIn, parseManifest } from '@standin/crds';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProgrammedState } from '../../operator/src/gateways/gateway-record.ts';
import {
  pending,
  regenerationFacts,
  refused,
  regenerationStatus,
  WRITING,
} from '../../operator/src/keys/regeneration-report.ts';

import * as expectation from '../../operator/src/expectations/expectation-report.ts';
import * as purge from '../../operator/src/purge/purge-report.ts';
import { NO_PLACE, PAUSED, replayStatus, type ReplayFacts } from '../../operator/src/replay/replay-report.ts';
import {
  notAccepted,
  requestNotFound,
  shareStatus,
  WORKING,
  type Readiness,
} from '../../operator/src/share/judge-share.ts';
import { nextConditions, programmedFinding, type ConditionContext } from '../../operator/src/status/conditions.ts';
import { ACCEPTED, fails, holds, NOT_CHECKED } from '../../operator/src/translate/findings.ts';
import type { ConfigRef, Finding } from '../../operator/src/translate/types.ts';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand } from '../cluster/run-command.ts';
import type { Cluster } from '../harness/cluster.ts';
import { useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/**
 * Tests how kstatus, the library that Flux uses to wait for objects, interprets every state of every kind. The API server sets the
 * initial status, and the operator's own functions set all other statuses.
 */

const { purgeStatus } = purge;
const NOW = '2026-11-21T12:00:00Z';
const EXAMPLES = path.join(import.meta.dirname, '../../crds/examples');
const FILES: Readonly<Record<Kind, string>> = {
  Account: 'quickstart/account.yaml',
  Project: 'quickstart/project.yaml',
  Endpoint: 'quickstart/create-order.yaml',
  Replay: 'operations/replay-one.yaml',
  Share: 'operations/share.yaml',
  KeyRegeneration: 'operations/regenerate-key.yaml',
  Purge: 'operations/purge.yaml',
  Expectation: 'operations/expect-refund.yaml',
};
const KINDS_TESTED = Object.keys(FILES) as Kind[];
type KStatus = 'InProgress' | 'Current' | 'Failed';

interface Manifest {
  readonly kind: Kind;
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly status?: unknown;
}

const exampleManifest = (kind: Kind): Manifest => {
  const [document] = parseManifest(readFileSync(path.join(EXAMPLES, FILES[kind]), 'utf8')).documents;
  return document?.value as Manifest;
};

const evaluateKstatus = async (objects: readonly unknown[]): Promise<string[]> => {
  const input = JSON.stringify(objects);
  const { code, stdout, stderr } = await runCommand(await buildGoProgram('kstatus', console.log), [], { input });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
};

let cluster: Cluster;
beforeAll(async () => {
  cluster = await sharedCluster();
  await buildGoProgram('kstatus', console.log);
}, 600_000);

/** Creates an object and returns what the API server has stored. */
const create = async (kind: Kind, namespace: string): Promise<Manifest> => {
  const input = JSON.stringify(exampleManifest(kind));
  const { code, stdout, stderr } = await cluster.kubectl(['create', '-n', namespace, '-o', 'json', '-f', '-'], {
    input,
  });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Manifest;
};

const contextAt = (before: readonly Condition[]): ConditionContext => ({ generation: 1, before, now: NOW });

const served =
  (
    kind: 'Account' | 'Project' | 'Endpoint',
    state: ProgrammedState,
    findings: { accepted?: Finding; resolvedRefs?: Finding } = {},
  ) =>
  ({ before }: ConditionContext): object => {
    const { accepted = ACCEPTED, resolvedRefs = holds('ResolvedRefs', '') } = findings;
    const ref: ConfigRef = { kind, namespace: 'shop', name: 'a' };
    const verdict = { ref, uid: 'uid', generation: 1, accepted, resolvedRefs, configKey: undefined, status: {} };
    const isSent = accepted.ok && resolvedRefs.ok;
    const conditions = nextConditions(verdict, programmedFinding(isSent ? state : undefined), before, NOW);
    return { observedGeneration: 1, conditions };
  };

const replay =
  (facts: Partial<ReplayFacts> & Pick<ReplayFacts, 'phase' | 'progress'>) =>
  (context: ConditionContext): object =>
    replayStatus({ accepted: ACCEPTED, counts: [], ...facts }, context);

const share =
  (readiness: Readiness, accepted: Finding = ACCEPTED) =>
  (context: ConditionContext): object =>
    shareStatus(accepted, readiness, context);

const expected =
  (facts: expectation.ExpectationFacts) =>
  (context: ConditionContext): object =>
    expectation.expectationStatus(facts, context);
const RANGE = { fromUs: 0, untilUs: 1_000_000 };
const ONE = { min: 1, max: 1 };
const NONE = { matched: 0, requestIds: [], nearMisses: [] };

const PROGRAMMED: ProgrammedState = { kind: 'programmed' };
const WAITING: ProgrammedState = { kind: 'waiting', gateways: ['gateway-1'], known: 3, unheard: false };
const ENTRY = { requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe', project: 'shop', projectUid: 'uid' };
const NOT_FOUND = fails('ProjectNotFound', 'There is no Project shop.');
const NOT_IN_PLAN = fails('NotInPlan', 'Sharing needs the Pro plan.');

type State = readonly [Kind, string, KStatus, (context: ConditionContext) => object];

const SERVED: readonly State[] = (['Account', 'Project', 'Endpoint'] as const).flatMap((kind): State[] => [
  [kind, 'on all gateways', 'Current', served(kind, PROGRAMMED)],
  [kind, 'on its way to a gateway', 'InProgress', served(kind, WAITING)],
  [kind, 'without a gateway', 'InProgress', served(kind, { kind: 'no-gateway' })],
  [kind, 'rejected by a gateway', 'Failed', served(kind, { kind: 'rejected', gateway: 'gateway-1', message: 'no' })],
  [kind, 'with a missing reference', 'InProgress', served(kind, PROGRAMMED, { resolvedRefs: NOT_FOUND })],
  [kind, 'that conflicts', 'Failed', served(kind, PROGRAMMED, { accepted: fails('Conflicted', 'It exists.') })],
  [
    kind,
    'that is invalid',
    'Failed',
    served(kind, PROGRAMMED, { accepted: fails('Invalid', 'no'), resolvedRefs: NOT_CHECKED }),
  ],
]);

const OPERATIONS: readonly State[] = [
  ['Replay', 'that waits for a place', 'InProgress', replay(NO_PLACE)],
  ['Replay', 'that waits for its project', 'InProgress', replay({ ...NO_PLACE, accepted: NOT_FOUND })],
  [
    'Replay',
    'that runs',
    'InProgress',
    replay({ phase: 'Running', progress: { type: 'Reconciling', reason: 'Running', message: '' } }),
  ],
  ['Replay', 'that is paused', 'InProgress', replay(PAUSED)],
  [
    'Replay',
    'that succeeded',
    'Current',
    replay({ phase: 'Succeeded', progress: { type: 'Complete', reason: 'Succeeded', message: '' } }),
  ],
  [
    'Replay',
    'that failed',
    'Failed',
    replay({ phase: 'Failed', progress: { type: 'Failed', reason: 'Failed', message: '' } }),
  ],
  // A cancelled replay is Current, because its spec requests the cancellation.
  [
    'Replay',
    'that was cancelled',
    'Current',
    replay({ phase: 'Cancelled', progress: { type: 'Failed', reason: 'Cancelled', message: '' } }),
  ],
  [
    'KeyRegeneration',
    'that waits',
    'InProgress',
    (context) => regenerationStatus(pending('AccountNotFound', 'no'), context),
  ],
  ['KeyRegeneration', 'that writes the key', 'InProgress', (context) => regenerationStatus(WRITING, context)],
  [
    'KeyRegeneration',
    'that waits for a gateway',
    'InProgress',
    (context) => regenerationStatus(regenerationFacts(WAITING, 3, NOW), context),
  ],
  [
    'KeyRegeneration',
    'that succeeded',
    'Current',
    (context) => regenerationStatus(regenerationFacts(PROGRAMMED, 3, NOW), context),
  ],
  [
    'KeyRegeneration',
    'that was refused',
    'Failed',
    (context) => regenerationStatus(refused('LimitReached', 'no'), context),
  ],
  ['Purge', 'of a missing project', 'InProgress', (context) => purgeStatus(purge.pending(NOT_FOUND), context)],
  ['Purge', 'that waits for a gateway', 'InProgress', (context) => purgeStatus(purge.waiting(['gateway a']), context)],
  ['Purge', 'that deletes requests', 'InProgress', (context) => purgeStatus(purge.running('', 3), context)],
  ['Purge', 'that succeeded', 'Current', (context) => purgeStatus(purge.completed(3), context)],
  ['Purge', 'that was refused', 'Failed', (context) => purgeStatus(purge.refused(NOT_FOUND), context)],
  ['Expectation', 'of a missing project', 'InProgress', expected(expectation.pending(NOT_FOUND, RANGE))],
  ['Expectation', 'that is open', 'InProgress', expected(expectation.open(RANGE, ONE))],
  ['Expectation', 'that is met', 'Current', expected(expectation.decided(RANGE, ONE, { ...NONE, kind: 'met' }))],
  ['Expectation', 'that is not met', 'Failed', expected(expectation.decided(RANGE, ONE, { ...NONE, kind: 'unmet' }))],
  ['Expectation', 'that is not determined', 'Failed', expected(expectation.undetermined(ACCEPTED, 'no', RANGE))],
  ['Share', 'that works', 'Current', share(WORKING)],
  ['Share', 'whose request may appear', 'InProgress', share(requestNotFound(ENTRY, true))],
  ['Share', 'whose request does not exist', 'Failed', share(requestNotFound(ENTRY, false))],
  ['Share', 'of a missing project', 'InProgress', share(notAccepted(NOT_FOUND), NOT_FOUND)],
  ['Share', 'that is refused', 'Failed', share(notAccepted(NOT_IN_PLAN), NOT_IN_PLAN)],
];

describe('kstatus', () => {
  it('says that new objects are InProgress', async () => {
    const namespace = await useNamespace(cluster);
    const objects = await Promise.all(KINDS_TESTED.map((kind) => create(kind, namespace)));
    const found = await evaluateKstatus(objects);
    expect(found).toEqual(KINDS_TESTED.map(() => 'InProgress'));
  });

  it('says of every later state what Flux and Argo CD should wait for', async () => {
    const namespace = await useNamespace(cluster);
    const created = new Map(
      await Promise.all(KINDS_TESTED.map(async (kind) => [kind, await create(kind, namespace)] as const)),
    );
    const objects = [...SERVED, ...OPERATIONS].map(([kind, , , makeStatus]) => {
      const object = created.get(kind);
      return { ...object, status: makeStatus(contextAt(conditionsIn(object?.status))) };
    });
    const found = await evaluateKstatus(objects);
    const summary = (of: (index: number) => string | undefined): string[] =>
      [...SERVED, ...OPERATIONS].map(([kind, state], index) => `${kind} ${state}: ${of(index)}`);
    expect(summary((index) => found[index])).toEqual(summary((index) => [...SERVED, ...OPERATIONS][index]?.[2]));
  });

  it('says that a changed object is InProgress until the operator has seen the change', async () => {
    const status = served('Endpoint', PROGRAMMED)(contextAt([]));
    const changed = { ...exampleManifest('Endpoint'), metadata: { name: 'a', generation: 2 }, status };
    expect(await evaluateKstatus([changed])).toEqual(['InProgress']);
  });
});

/** Creates an object and stores the state's status in it, as the operator would. Returns the object as `SHORT-NAME/NAME`. */
const store = async ([kind, , , makeStatus]: State, namespace: string): Promise<string> => {
  const { metadata, status } = await create(kind, namespace);
  const name = `${RESOURCES[kind].shortNames[0]}/${metadata.name}`;
  const patch = JSON.stringify({ status: makeStatus(contextAt(conditionsIn(status))) });
  const { code, stderr } = await cluster.kubectl([
    'patch',
    name,
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    patch,
  ]);
  expect(code, stderr).toBe(0);
  return name;
};

describe('kubectl', () => {
  const wait = async (name: string, namespace: string, condition: string): Promise<number> =>
    (await cluster.kubectl(['wait', name, '-n', namespace, `--for=condition=${condition}`, '--timeout=0'])).code;

  it.for(OPERATIONS.filter(([kind]) => kind !== 'Share'))('waits for the end of a %s %s', async (state) => {
    const namespace = await useNamespace(cluster);
    const name = await store(state, namespace);
    const [kind, what, expected] = state;
    const isCancelled = what === 'that was cancelled';
    const isFailed = expected === 'Failed' || isCancelled;
    const success = kind === 'Expectation' ? 'Met' : 'Complete';
    expect(await wait(name, namespace, success)).toBe(expected === 'Current' && !isCancelled ? 0 : 1);
    expect(await wait(name, namespace, 'Failed')).toBe(isFailed ? 0 : 1);
    expect(await wait(name, namespace, 'Reconciling')).toBe(expected === 'InProgress' ? 0 : 1);
    if (kind === 'Expectation') expect(await wait(name, namespace, 'Decided')).toBe(expected === 'InProgress' ? 1 : 0);
  });

  it.for(['Replay', 'KeyRegeneration'] as const)('shows the message of a %s that failed', async (kind) => {
    const namespace = await useNamespace(cluster);
    const message = 'This is why it failed.';
    const status =
      kind === 'Replay'
        ? replay({ phase: 'Failed', progress: { type: 'Failed', reason: 'Failed', message } })
        : (context: ConditionContext) => regenerationStatus(refused('LimitReached', message), context);
    const name = await store([kind, 'that failed', 'Failed', status], namespace);
    const { stdout } = await cluster.kubectl(['get', name, '-n', namespace, '-o', 'wide']);
    expect(stdout).toContain(message);
  });
});
