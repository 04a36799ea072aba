import { hasControls } from '@standin/contract';
import { exampleUrl, shellQuote } from '@standin/exchange/formats';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { CopyButton } from '../ui/copy-button.tsx';

interface Tried {
  readonly method: string;
  readonly url: string;
}

/**
 * Returns a curl command that calls an endpoint, with an example value for each path parameter. Quotes the key and the URL, because other users may have chosen the key and the
 * path. Throws if the key contains control characters.
 */
export const tryCommand = ({ method, url }: Tried, apiKey: string): string => {
  if (hasControls(apiKey)) throw new Error('the API key contains control characters');
  const body = method === 'GET' || method === 'DELETE' ? '' : ` -H 'content-type: application/json' -d '{"try": true}'`;
  return `curl -i -X ${method} -H ${shellQuote(`x-api-key: ${apiKey}`)}${body} ${shellQuote(exampleUrl(url))}`;
};

export interface TryItProps extends Tried {
  readonly params: ProjectName;
}

const KEY_SHOWN = 'standin_••••';

/** Fetches the key when the user copies the command, because the page does not contain it. */
const readApiKey = async (params: ProjectName): Promise<string> => {
  const response = await fetch(paths.apiKeyValue(params), { method: 'POST' });
  if (!response.ok) throw new Error('the API key can’t be read. See Settings → API key.');
  return response.text();
};

export const TryIt = (props: TryItProps) => (
  <section aria-labelledby="try" className="flex flex-col gap-1">
    <h2 id="try" className="font-medium">
      Try it
    </h2>
    <div className="flex min-h-9 items-center gap-1 rounded border border-line bg-panel py-1 pr-1 pl-3">
      <code className="min-w-0 flex-1 break-all">{tryCommand(props, KEY_SHOWN)}</code>
      <CopyButton
        text={async () => tryCommand(props, await readApiKey(props.params))}
        label="Copy curl command with API key"
      />
    </div>
  </section>
);
