import { Outlet, useParams } from '@remix-run/react';
import { paths } from '../paths.ts';
import { Tabs } from '../ui/tabs.tsx';

const ProjectSettings = () => {
  const { namespace = '', project = '' } = useParams();
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="text-h1">Settings</h1>
      <div className="mt-2 mb-6 border-b border-line">
        <Tabs
          label="Settings"
          tabs={[
            { to: paths.settings({ namespace, project }), label: 'General', end: true },
            { to: paths.apiKey({ namespace, project }), label: 'API key' },
            { to: paths.usage({ namespace, project }), label: 'Usage' },
            { to: paths.shares({ namespace, project }), label: 'Shares' },
            { to: paths.purges({ namespace, project }), label: 'Purges' },
          ]}
        />
      </div>
      <div className="max-w-4xl">
        <Outlet />
      </div>
    </div>
  );
};
export default ProjectSettings;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
