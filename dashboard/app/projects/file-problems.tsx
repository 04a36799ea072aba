import type { SourceProblem } from '@standin/contract';
import { Notice } from '../ui/notice.tsx';

const SHOWN_MAX = 20;

/** Lists the problems with the manifests in the directory. */
export const FileProblems = ({ problems }: { readonly problems: readonly SourceProblem[] }) =>
  problems.length > 0 && (
    <section aria-label="Problems in files" className="mb-4">
      <Notice look="bad">
        <p>
          {problems.length === 1 ? 'One manifest cannot be used' : `${problems.length} manifests cannot be used`} as
          written. What was valid before the last change stays in effect.
        </p>
        <ul className="mt-1 flex flex-col gap-1">
          {problems.slice(0, SHOWN_MAX).map(({ where, message }) => (
            <li key={`${where} ${message}`} className="break-words">
              <code className="break-all">{where}</code> {message}
            </li>
          ))}
        </ul>
        {problems.length > SHOWN_MAX && <p className="mt-1">And {problems.length - SHOWN_MAX} more.</p>}
      </Notice>
    </section>
  );
