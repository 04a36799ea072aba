import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import type { ReplayCommands } from './replay-commands.server.ts';

/** Shows the manifest of a replay, and commands that start a copy of the replay without the dashboard. */
export const Commands = ({ yaml, kubectl, standin }: ReplayCommands) => (
  <details className="group rounded border border-line">
    <summary className="px-3 py-2 font-medium">Command line</summary>
    <div className="flex flex-col gap-3 border-t border-line px-3 py-3">
      {standin !== undefined && (
        <div className="flex min-h-9 items-center gap-1 rounded border border-line bg-panel py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 break-all">{standin}</code>
          <CopyButton text={standin} label="Copy command" />
        </div>
      )}
      <div className="flex items-center justify-between gap-2">
        <p className="text-muted">
          This manifest creates a Replay. Each time you create one, the requests are sent again.
        </p>
        <CopyButton text={kubectl} label="Copy as kubectl create" labelled />
      </div>
      <CodeView label="Replay manifest" language="yaml" text={yaml} />
    </div>
  </details>
);
