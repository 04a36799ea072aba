import * as tasks from './tasks.ts';

export type Tasks = typeof tasks;
export type TaskName = keyof Tasks;

export interface Work {
  readonly name: TaskName;
  readonly input: unknown;
  /** Set to 1 by the worker when it begins the work. */
  readonly started: Int32Array<SharedArrayBuffer>;
}

/** Runs a task. Piscina calls this function in a worker. */
export const perform = ({ name, input, started }: Work): unknown => {
  Atomics.store(started, 0, 1);
  Atomics.notify(started, 0);
  return (tasks[name] as (given: unknown) => unknown)(input);
};
