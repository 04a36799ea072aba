import type { ReactNode } from 'react';

export interface EmptyStateProps {
  readonly title: string;
  /** Tells the user what to do next. */
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

export const EmptyState = ({ title, children, action }: EmptyStateProps) => (
  <div className="mx-auto flex max-w-xl flex-col items-center gap-2 rounded-lg border border-dashed border-line px-6 py-12 text-center">
    <h2 className="text-h2">{title}</h2>
    <div className="text-muted">{children}</div>
    {action !== undefined && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
  </div>
);
