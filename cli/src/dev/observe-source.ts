import {
  objectKey,
  objectRef,
  type ObjectRef,
  type ResourceObject,
  type ResourceSource,
  type SourceListener,
  type SourceProblem,
} from '@standin/contract';

/** The objects that a source has reported to its listener so far. */
export interface Observation {
  /** Yields every object in its current state. */
  objects(): Iterable<ResourceObject>;
  get(ref: ObjectRef): ResourceObject | undefined;
  /** The current problems with the input. */
  problems(): readonly SourceProblem[];
  /**
   * Calls the callback with every later change, without an argument if the problems have changed. Returns a function that
   * unsubscribes.
   */
  onChange(listener: (ref: ObjectRef | undefined) => void): () => void;
}

/** Adds a second observer to a source. The result behaves like the source that it wraps. */
export const observeSource = (
  inner: ResourceSource,
): { readonly source: ResourceSource; readonly observed: Observation } => {
  const objects = new Map<string, ResourceObject>();
  const listeners = new Set<(ref: ObjectRef | undefined) => void>();
  let problems: readonly SourceProblem[] = [];
  const notify = (object?: ResourceObject): void => {
    for (const listener of listeners) listener(object && objectRef(object));
  };
  const follow = (listener: SourceListener): SourceListener => ({
    put: (object) => {
      objects.set(objectKey(objectRef(object)), object);
      listener.put(object);
      notify(object);
    },
    remove: (object) => {
      // A new object with the same name may already exist.
      const key = objectKey(objectRef(object));
      if (objects.get(key)?.metadata.uid === object.metadata.uid) objects.delete(key);
      listener.remove(object);
      notify(object);
    },
    problems: (found) => {
      problems = found;
      listener.problems(found);
      notify();
    },
  });
  return {
    source: {
      start: (listener, signal) => inner.start(follow(listener), signal),
      get: (ref) => inner.get(ref),
      apply: (object) => inner.apply(object),
      delete: (ref, version) => inner.delete(ref, version),
      writeStatus: (ref, status, resourceVersion) => inner.writeStatus(ref, status, resourceVersion),
      readSecret: (namespace, name, dataKey) => inner.readSecret(namespace, name, dataKey),
      readSigningSecret: (namespace, name) => inner.readSigningSecret(namespace, name),
      createSecret: (owner, name, data) => inner.createSecret(owner, name, data),
      replaceSecret: (owner, name, data, mark) => inner.replaceSecret(owner, name, data, mark),
      recordEvent: (object, event) => inner.recordEvent(object, event),
    },
    observed: {
      objects: () => objects.values(),
      get: (ref) => objects.get(objectKey(ref)),
      problems: () => problems,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
};
