import { useEffect, useRef } from 'react';
import { Notice } from './notice.tsx';

export interface OutdatedNoticeProps {
  readonly what: 'endpoint' | 'project';
  /** The generation that is currently saved. */
  readonly generation: number;
  /** The last rejected save. Each rejection moves focus to the notice, so that users do not overlook it. */
  readonly refusal: object | undefined;
  readonly onTakeTheirs: () => void;
}

/** A notice above a form. It is shown if the object has changed since the form was opened. */
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
        {refusal === undefined && 'When you save, your changes are merged with the saved version. '}
        <button type="button" className="underline" onClick={onTakeTheirs}>
          Load latest version
        </button>
      </Notice>
    </div>
  );
};
