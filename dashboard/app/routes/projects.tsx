import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, useLoaderData, useNavigate } from '@remix-run/react';
import { Plus } from 'lucide-react';
import { useLiveResources } from '../shell/live.ts';
import { paths } from '../paths.ts';
import { useRowKeys, useShortcuts } from '../shell/shortcuts.ts';
import { projectAddress } from '../../src/projects/projects.ts';
import { FileProblems } from '../projects/file-problems.tsx';
import { ProjectCard } from '../projects/project-card.tsx';
import { countRequests, toProjectView } from '../projects/project-view.server.ts';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Notice } from '../ui/notice.tsx';

export const meta: MetaFunction = () => [{ title: 'Projects · Standin' }];

/** The maximum number of projects, so that the page renders without a noticeable delay. The palette finds the others. */
const PROJECTS_MAX = 500;

export const loader = async ({ context: { backend } }: LoaderFunctionArgs) => {
  const [all, ofAll] = await Promise.all([backend.resources.list('Project'), backend.resources.list('Account')]);
  const accounts = new Map(ofAll.map((account) => [`${account.metadata.namespace}/${account.metadata.name}`, account]));
  const projects = all.slice(0, PROJECTS_MAX);
  const [requests, addresses] = await Promise.all([
    countRequests(backend, projects),
    Promise.all(projects.map((project) => projectAddress(backend, project))),
  ]);
  return {
    total: all.length,
    projects: projects.map((object, index) =>
      toProjectView(object, {
        accounts,
        address: addresses[index],
        requests: requests?.get(object.metadata.uid),
      }),
    ),
    isLogUnavailable: requests === undefined,
    problems: (await backend.resources.problems?.()) ?? [],
  };
};

const Projects = () => {
  const { total, projects, isLogUnavailable, problems } = useLoaderData<typeof loader>();
  const navigate = useNavigate();
  useLiveResources();
  useRowKeys();
  useShortcuts([{ keys: 'n', label: 'New project', run: () => navigate(paths.newProject()) }]);
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <div className="mb-4 flex items-center justify-between gap-4">
        <h1 className="text-h1">Projects</h1>
        <Link to={paths.newProject()} className={buttonClass('primary')}>
          <Plus aria-hidden /> New project
        </Link>
      </div>
      <FileProblems problems={problems} />
      {isLogUnavailable && (
        <div className="mb-4">
          <Notice look="bad">
            ClickHouse is not responding, so request counts are missing. Endpoints still work. Gateways keep captured
            requests and deliver them when ClickHouse is available again.
          </Notice>
        </div>
      )}
      {projects.length === 0 ? (
        <EmptyState
          title="No projects yet"
          action={
            <Link to={paths.newProject()} className={buttonClass('primary')}>
              Create project
            </Link>
          }
        >
          A project groups endpoints under one URL, with one API key and one log.
        </EmptyState>
      ) : (
        <>
          <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
            {projects.map((project) => (
              <ProjectCard
                key={`${project.namespace}/${project.project}`}
                project={project}
                isLogUnavailable={isLogUnavailable}
              />
            ))}
          </ul>
          {total > projects.length && (
            <p className="mt-3 text-muted">
              Showing the first {projects.length} of {total}. Press Ctrl+K to find other projects.
            </p>
          )}
        </>
      )}
    </div>
  );
};
export default Projects;
