import { randomBytes } from 'node:crypto';
import { GROUP_VERSION } from '@standin/contract';
import type { ReplaySpec, ReplayStatus } from '@standin/crds';
import { eventually } from '../harness/eventually.ts';
import { operationFiles } from './operation-files.ts';

export type NewReplay = Partial<ReplaySpec> & Pick<ReplaySpec, 'target'>;

/** A Replay of the quickstart's project, in the data folder of `standin dev`. */
export class DevReplay {
  readonly #operations: ReturnType<typeof operationFiles>;
  readonly #object: {
    apiVersion: string;
    kind: 'Replay';
    metadata: { name: string; namespace: string };
    spec: unknown;
  };
  #file = '';

  private constructor(data: string, spec: NewReplay) {
    this.#operations = operationFiles(data);
    const name = `replay-${randomBytes(4).toString('hex')}`;
    this.#object = {
      apiVersion: GROUP_VERSION,
      kind: 'Replay',
      metadata: { name, namespace: 'default' },
      spec: { projectRef: { name: 'shop' }, ...spec },
    };
  }

  static async create(data: string, spec: NewReplay): Promise<DevReplay> {
    const replay = new DevReplay(data, spec);
    replay.#file = await replay.#operations.create(replay.#object);
    return replay;
  }

  async setState(state: ReplaySpec['state']): Promise<void> {
    const { spec } = this.#object;
    await this.#operations.change({ ...this.#object, spec: { ...(spec as object), state } }, this.#file);
  }

  async status(): Promise<ReplayStatus> {
    const seen = await this.#operations.seen({ kind: 'Replay', ...this.#object.metadata });
    return seen?.status ?? {};
  }

  until(what: string, accept: (status: ReplayStatus) => boolean, timeoutMs = 20_000): Promise<ReplayStatus> {
    return eventually(what, () => this.status(), { accept, timeoutMs });
  }

  ended(timeoutMs?: number): Promise<ReplayStatus> {
    return this.until('the end of the replay', ({ completedAt }) => completedAt !== undefined, timeoutMs);
  }
}

/** A time range that covers the day of the test and a long time before and after it. */
export const ALL_DAY = { from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
