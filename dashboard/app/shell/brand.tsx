import { ArrowRightLeft } from 'lucide-react';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';

/** Links to the projects. `compact`: hides the name on a phone. */
export const Brand = ({ compact = false }: { readonly compact?: boolean }) => (
  <Link to={paths.projects()} className="flex items-center gap-2 rounded pr-1 font-semibold">
    <span className="flex size-6 items-center justify-center rounded bg-accent text-on-accent">
      <ArrowRightLeft aria-hidden className="size-3.5" />
    </span>
    <span className={compact ? 'max-sm:sr-only' : ''}>Standin</span>
  </Link>
);
