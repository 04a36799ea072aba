import type { LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { kubectlCommand, objectYaml } from '../../src/resources/manifest-yaml.ts';
import { endpointParams } from './params.server.ts';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const yaml = objectYaml(await getEndpoint(backend, endpointParams(params)), backend.mode);
  return { yaml, command: kubectlCommand('apply', yaml) };
};

const EndpointYaml = () => {
  const { yaml, command } = useLoaderData<typeof loader>();
  return (
    <section aria-label="YAML" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto text-muted">Read-only. Status and managed fields are omitted.</p>
        <CopyButton text={yaml} label="Copy YAML" labelled />
        <CopyButton text={command} label="Copy as kubectl apply" labelled />
      </div>
      <CodeView label="Endpoint YAML" language="yaml" text={yaml} />
    </section>
  );
};
export default EndpointYaml;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
