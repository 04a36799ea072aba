import * as tasks from './tasks.ts';

export type Tasks = typeof tasks;
export type TaskName = keyof Tasks;

export interface Work {
  readonly name: TaskName;
  readonly input: unknown;
  /** A worker sets it to 1 when it begins the work. */
  readonly started: Int32Array<SharedArrayBuffer>;
}

/** The function that a worker runs. */
export const perform = ({ name, input, started }: Work): unknown => {
  Atomics.store(started, 0, 1);
  Atomics.notify(started, 0);
  return (tasks[name] as (given: unknown) => unknown)(input);
};
