import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Outlet, useLoaderData, useNavigate } from '@remix-run/react';
import { getProject } from '../../src/projects/projects.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { isSharingInPlan } from '../../src/shares/create-share.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { projectSpec } from '../../src/resources/specs.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { Tabs } from '../ui/tabs.tsx';

export const meta: MetaFunction<typeof loader> = ({ data }) => [{ title: `${data?.title ?? 'Project'} · Standin` }];

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const object = await getProject(backend, names);
  const { displayName = names.project } = projectSpec(object);
  const isInPlan = await isSharingInPlan(backend, object);
  return { ...names, uid: object.metadata.uid, title: displayName, isSharingInPlan: isInPlan };
};

export { unlessQueryOnly as shouldRevalidate } from '../shell/revalidation.ts';

/** A project's screens, with the keys that open them. */
const SCREENS = [
  { keys: 'g t', label: 'Traffic', path: paths.traffic },
  { keys: 'g e', label: 'Endpoints', path: paths.endpoints },
  { keys: 'g r', label: 'Replays', path: (params: ProjectName) => paths.replays(params) },
  { keys: 'g x', label: 'Expectations', path: (params: ProjectName) => paths.expectations(params) },
  { keys: 'g s', label: 'Settings', path: paths.settings },
] as const;

const Project = () => {
  const project = useLoaderData<typeof loader>();
  const navigate = useNavigate();
  useShortcuts(
    SCREENS.map(({ keys, label, path }) => ({ keys, label: `Go to ${label}`, run: () => navigate(path(project)) })),
  );
  return (
    <>
      <div className="border-b border-line bg-page px-2">
        <Tabs label="Project" tabs={SCREENS.map(({ label, path }) => ({ to: path(project), label }))} />
      </div>
      <Outlet />
    </>
  );
};
export default Project;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
