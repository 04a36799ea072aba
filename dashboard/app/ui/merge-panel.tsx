import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';
import type { Collision, Side } from './merge-values.ts';

export interface MergePanelProps {
  readonly collisions: readonly Collision[];
  /** The fields that only the other user has changed. */
  readonly taken: readonly string[];
  /** Returns the path of a field as users know it. */
  readonly pathLabel: (path: string) => string;
  readonly onMerge: (prefer: (path: string) => Side) => void;
  readonly onTakeTheirs: () => void;
}

const valueText = (value: unknown): string => {
  if (value === undefined) return '(does not exist)';
  if (value === '') return '(empty)';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
};

const Value = ({ value }: { readonly value: unknown }) => (
  <span className="block max-h-48 overflow-auto font-mono text-small break-all whitespace-pre-wrap">
    <bdi>{valueText(value)}</bdi>
  </span>
);

const CHOICES = [
  { side: 'mine', label: 'Your version' },
  { side: 'theirs', label: 'Saved version' },
] as const;

/** Asks which version of each field to keep. All other changes of both versions are kept. */
export const MergePanel = ({ collisions, taken, pathLabel, onMerge, onTakeTheirs }: MergePanelProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <form
      aria-labelledby="merge"
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        const choices = new FormData(event.currentTarget);
        onMerge((path) => (choices.get(path) === 'theirs' ? 'theirs' : 'mine'));
      }}
    >
      <div className="flex flex-col gap-1">
        <h2 id="merge" ref={heading} tabIndex={-1} className="text-h2 outline-none">
          Not saved: both versions changed the same {collisions.length === 1 ? 'field' : 'fields'}
        </h2>
        <p className="text-muted">
          Someone else saved while you were editing. Choose the version of each field below. Your other changes are
          kept.
          {taken.length > 0 && ` The changes to ${taken.map(pathLabel).join(', ')} are taken from the saved version.`}
        </p>
      </div>
      {collisions.map(({ path, base, ...sides }) => (
        <fieldset key={path} className="flex min-w-0 flex-col gap-1">
          <legend className="mb-1 font-mono text-small font-medium break-all">{pathLabel(path)}</legend>
          <div className="grid gap-2 sm:grid-cols-3">
            <div className="min-w-0 rounded border border-line bg-panel px-3 py-2">
              <span className="text-muted">Before</span>
              <Value value={base} />
            </div>
            {CHOICES.map(({ side, label }) => (
              <label
                key={side}
                className="flex min-w-0 gap-2 rounded border border-line px-3 py-2 hover:bg-hover has-checked:border-accent has-checked:bg-selected has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
              >
                <input
                  type="radio"
                  name={path}
                  value={side}
                  defaultChecked={side === 'mine'}
                  className="mt-0.5 size-4 shrink-0 accent-accent outline-none"
                />
                <span className="min-w-0 flex-1">
                  <span className="font-medium">{label}</span>
                  <Value value={sides[side]} />
                </span>
              </label>
            ))}
          </div>
        </fieldset>
      ))}
      <div className="flex flex-wrap gap-2 border-t border-line pt-4">
        <Button type="submit" look="primary">
          Merge
        </Button>
        <Button look="ghost" onClick={onTakeTheirs}>
          Discard your changes
        </Button>
      </div>
    </form>
  );
};
