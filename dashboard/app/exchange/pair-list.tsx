import { wireText } from '@standin/exchange/formats';
import { useId, type ReactNode } from 'react';
import { CopyButton } from '../ui/copy-button.tsx';
import { LongValue } from './long-value.tsx';
import { SectionHeading, useSectionLabel } from './section-heading.tsx';
import { WireValue } from './wire-value.tsx';

/** The maximum number of pairs in a list. A form of 256 KiB can have 130,000 pairs, which would be slow to render. */
export const PAIRS_SHOWN_MAX = 500;

export interface PairListProps {
  readonly title: string;
  readonly pairs: readonly (readonly [name: string, value: string])[];
  /** The total number of pairs if `pairs` is only a part of the list. */
  readonly total?: number;
  /** True if the pairs are latin1 from the wire. False if they are already decoded. */
  readonly fromWire?: boolean;
  /** Content next to the title. */
  readonly aside?: ReactNode;
  /** Returns the note below the value with this name. */
  readonly note?: (name: string) => string | undefined;
}

/** Lists names and values without changing their case, order or repetitions. Each value has a copy button. */
export const PairList = ({ title, pairs, total = pairs.length, fromWire = true, aside, note }: PairListProps) => {
  const id = useId();
  return (
    <section aria-labelledby={useSectionLabel(id)} className="flex flex-col gap-1">
      <div className="flex flex-wrap items-center gap-2">
        <SectionHeading id={id}>
          {title} <span className="font-normal text-muted">{total}</span>
        </SectionHeading>
        {aside}
      </div>
      {pairs.length > 0 && (
        <dl className="border-t border-line font-mono text-small">
          {pairs.slice(0, PAIRS_SHOWN_MAX).map(([name, value], index) => {
            const hint = note?.(name);
            return (
              <div
                key={index}
                className="grid grid-cols-[minmax(0,min(13rem,35%))_minmax(0,1fr)] gap-x-3 border-b border-line hover:bg-hover max-sm:grid-cols-1"
              >
                <dt className="py-0.5 pl-1 break-words text-muted">
                  {fromWire ? <WireValue latin1={name} /> : <bdi>{name}</bdi>}
                </dt>
                <dd className="flex items-start gap-1 max-sm:pl-1">
                  <span className="min-w-0 flex-1 py-0.5 break-all">
                    <LongValue label={`Value of ${fromWire ? wireText(name).text : name}`} length={value.length}>
                      {value === '' ? (
                        <span className="font-sans text-muted">empty</span>
                      ) : fromWire ? (
                        <WireValue latin1={value} />
                      ) : (
                        <bdi className="whitespace-pre-wrap">{value}</bdi>
                      )}
                    </LongValue>
                    {hint !== undefined && <span className="block font-sans text-muted">{hint}</span>}
                  </span>
                  <CopyButton
                    text={fromWire ? wireText(value).text : value}
                    label={`Copy value of ${fromWire ? wireText(name).text : name}`}
                    className="size-6!"
                  />
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      {pairs.length >= PAIRS_SHOWN_MAX && total > PAIRS_SHOWN_MAX && (
        <p className="text-small text-muted">
          Showing the first {PAIRS_SHOWN_MAX} of {total}.
        </p>
      )}
    </section>
  );
};
