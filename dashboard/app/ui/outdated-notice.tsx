import { useEffect, useRef } from 'react';
import { Notice } from './notice.tsx';

export interface OutdatedNoticeProps {
  readonly what: 'endpoint' | 'project';
  /** Of the version that is saved. */
  readonly generation: number;
  /** The last answer that refused to save over it: each takes the focus here, so that it is noticed. */
  readonly refusal: object | undefined;
  readonly onTakeTheirs: () => void;
}

/** Above a form whose object somebody else has changed since it was opened. */
export const OutdatedNotice = ({ what, generation, refusal, onTakeTheirs }: OutdatedNoticeProps) => {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (refusal !== undefined) box.current?.focus();
  }, [refusal]);
  return (
    <div ref={box} tabIndex={-1} className="mb-4 outline-none">
      <Notice look="bad" alert>
        {refusal !== undefined && 'Not saved. '}
        This {what} changed (generation {generation}) while you were editing.{' '}
        <button type="button" className="underline" onClick={onTakeTheirs}>
          Load latest version
        </button>
      </Notice>
    </div>
  );
};
