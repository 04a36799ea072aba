import type { LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { kubectlCommand, objectYaml } from '../../src/resources/manifest-yaml.ts';
import { endpointParams } from './params.server.ts';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const yaml = objectYaml(await getEndpoint(backend, names), backend.mode);
  const { namespace, endpoint: name } = names;
  const where = await backend.resources.whereIs?.({ kind: 'Endpoint', namespace, name });
  return { yaml, where, command: kubectlCommand('apply', yaml) };
};

const EndpointYaml = () => {
  const { yaml, where, command } = useLoaderData<typeof loader>();
  return (
    <section aria-label="YAML" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto min-w-0 text-muted">
          Read-only.{' '}
          {where === undefined ? (
            'Status and managed fields are omitted.'
          ) : (
            <>
              To change it, use the form, or edit <code className="break-all text-text">{where}</code>.
            </>
          )}
        </p>
        {where !== undefined && <CopyButton text={where} label="Copy path" />}
        <CopyButton text={yaml} label="Copy YAML" labelled />
        <CopyButton text={command} label="Copy as kubectl apply" labelled />
      </div>
      <CodeView label="Endpoint YAML" language="yaml" text={yaml} />
    </section>
  );
};
export default EndpointYaml;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
