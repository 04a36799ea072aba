import { classNames } from '../ui/class-names.ts';
import type { DiffLine } from '@standin/exchange/response-diff';

export interface LineDiffViewProps {
  readonly label: string;
  readonly lines: readonly DiffLine[];
  /** Number of added and removed lines, including those that are not in `lines`. */
  readonly total: number;
}

const LOOKS = {
  same: { mark: ' ', word: '', className: '' },
  removed: { mark: '−', word: 'removed: ', className: 'bg-5xx-chip' },
  added: { mark: '+', word: 'added: ', className: 'bg-2xx-chip' },
} as const;

const Line = ({ line }: { readonly line: Exclude<DiffLine, { kind: 'skipped' }> }) => {
  const { mark, word, className } = LOOKS[line.kind];
  return (
    <li
      className={classNames('grid grid-cols-[2.5rem_2.5rem_1rem_minmax(0,1fr)] pr-2', className)}
      data-diff={line.kind}
    >
      <span aria-hidden className="pr-2 text-right text-muted select-none">
        {line.kind !== 'added' && line.before}
      </span>
      <span aria-hidden className="pr-2 text-right text-muted select-none">
        {line.kind !== 'removed' && line.after}
      </span>
      <span aria-hidden className="select-none">
        {mark}
      </span>
      <span className="min-h-[18px] break-words whitespace-pre-wrap">
        {word !== '' && <span className="sr-only">{word}</span>}
        <bdi>{line.text}</bdi>
      </span>
    </li>
  );
};

/**
 * Shows the differences between two versions of a text, line by line. Each line has its number in the old version, the new version, or
 * both.
 */
export const LineDiffView = ({ label, lines, total }: LineDiffViewProps) => {
  const changed = lines.filter(({ kind }) => kind === 'removed' || kind === 'added').length;
  return (
    <>
      <div
        role="region"
        aria-label={label}
        tabIndex={0}
        className="max-h-[32rem] overflow-y-auto rounded border border-line py-1 font-mono text-small"
      >
        <ol>
          {lines.map((line, index) =>
            line.kind === 'skipped' ? (
              <li key={index} className="bg-panel py-0.5 pl-24 font-sans text-muted">
                {line.count.toLocaleString('en')} unchanged lines
              </li>
            ) : (
              <Line key={index} line={line} />
            ),
          )}
        </ol>
      </div>
      {changed < total && (
        <p className="text-muted">
          Showing the first {changed.toLocaleString('en')} of {total.toLocaleString('en')} changed lines.
        </p>
      )}
    </>
  );
};
