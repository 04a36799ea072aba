import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { kubectlCommand, objectYaml } from '../../src/resources/manifest-yaml.ts';
import { managingTool } from '../../src/resources/ownership.ts';
import { openManifest, saveManifest, submittedText } from '../endpoints/save-manifest.server.ts';
import { YamlForm } from '../endpoints/yaml-form.tsx';
import { paths } from '../paths.ts';
import { buttonClass } from '../ui/button.tsx';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { useKept } from '../ui/kept-form.ts';
import { mergeText } from '../ui/merge-text.ts';
import { OpenedForm } from '../ui/opened-form.tsx';
import { submittedVersion } from '../ui/save-form.server.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { useOpened } from '../ui/use-opened.ts';
import { endpointParams } from './params.server.ts';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const { object, yaml, isFile, revision } = await openManifest(backend, names);
  const { namespace, endpoint: name } = names;
  return {
    params: names,
    yaml,
    isFile,
    revision,
    generation: object.metadata.generation,
    isManaged: managingTool(object) !== undefined,
    where: await backend.resources.whereIs?.({ kind: 'Endpoint', namespace, name }),
    command: kubectlCommand('apply', objectYaml(object, backend.mode)),
  };
};

export const action = async ({ request, params, context }: ActionFunctionArgs) => {
  const names = endpointParams(params);
  const form = await request.formData();
  const [text, revision] = [submittedText(form), submittedVersion(form)];
  const { object, problems, isConflict } = await saveManifest(context, names, { text, revision });
  if (object !== undefined) return redirect(paths.endpoint(names));
  return data({ version: revision, values: text, problems, isConflict }, { status: 422 });
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const EndpointYaml = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { answer, unsaved } = useSubmitted<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  const { params, generation, revision, yaml, where, isFile, isManaged, command } = loaded;
  const state = useOpened({ version: revision, values: yaml }, answer, mergeText);
  const { opened, refused, conflict } = state;
  return (
    <section aria-label="YAML" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto min-w-0 text-muted">
          {isManaged && 'Read-only. '}
          {where === undefined ? (
            'Status and managed fields are omitted. Comments are not stored.'
          ) : (
            <>
              <code className="break-all text-text">{where}</code>
              {!isFile && ' has no text of its own for this endpoint, so comments that you add here are not stored.'}
            </>
          )}
        </p>
        {where !== undefined && <CopyButton text={where} label="Copy path" />}
        <CopyButton text={yaml} label="Copy YAML" labelled />
        <CopyButton text={command} label="Copy as kubectl apply" labelled />
      </div>
      {isManaged ? (
        <CodeView label="Endpoint YAML" language="yaml" text={yaml} />
      ) : (
        <OpenedForm what="endpoint" generation={generation} state={state} lost={lost}>
          <YamlForm
            key={state.key}
            text={refused?.values ?? opened.values}
            revision={opened.version}
            problems={conflict === undefined ? refused?.problems : undefined}
            isChanged={state.isChanged}
            unsaved={unsaved}
            isSaving={isSaving}
          >
            <Link to={paths.endpoint(params)} className={buttonClass('ghost')}>
              Cancel
            </Link>
          </YamlForm>
        </OpenedForm>
      )}
    </section>
  );
};
export default EndpointYaml;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
