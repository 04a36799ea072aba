import type { HeaderPair, ReplayTarget } from '@standin/contract';
import { replayHeaders, STRIP_REASONS } from '@standin/egress/replay';

export interface HeaderChangesProps {
  readonly requestId: string;
  readonly target: ReplayTarget;
  readonly headers: readonly HeaderPair[];
  readonly isEdited: boolean;
}

const KEY_SHOWN = 'the account’s key';

/** Shows the headers that a replay removes and adds. Applies the same rules as the operator. */
export const HeaderChanges = (props: HeaderChangesProps) => {
  const { stripped, added } = replayHeaders({ ...props, apiKey: KEY_SHOWN });
  return (
    <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
      <div>
        <h3 className="font-medium">Removed</h3>
        {stripped.length === 0 ? (
          <p className="text-muted">None.</p>
        ) : (
          <ul className="text-small">
            {stripped.map(({ name, reason }, index) => (
              <li key={index} className="break-words">
                <code>{name}</code> <span className="text-muted">{STRIP_REASONS[reason]}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div>
        <h3 className="font-medium">Added</h3>
        <ul className="text-small">
          {added.map(([name, value]) => (
            <li key={name} className="break-all">
              <code>{name}</code> <span className="text-muted">{value}</span>
            </li>
          ))}
          <li>
            <code>host</code>, <code>content-length</code> <span className="text-muted">from the URL and the body</span>
          </li>
        </ul>
      </div>
    </div>
  );
};
