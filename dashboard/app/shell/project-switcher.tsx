import { ChevronsUpDown, Plus } from 'lucide-react';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { IconButton } from '../ui/icon-button.tsx';
import { Menu, MenuLabel, MenuLink, MenuSeparator } from '../ui/menu.tsx';
import { useNavigationTargets } from './navigation-targets.ts';

export interface ProjectSwitcherProps {
  readonly namespace: string;
  readonly project: string;
  readonly title: string;
}

export const ProjectSwitcher = ({ namespace, project, title }: ProjectSwitcherProps) => {
  const { targets, hasFailed, load } = useNavigationTargets({ namespace, project });
  return (
    <div className="flex min-w-0 items-center">
      <Link
        to={paths.project({ namespace, project })}
        className="min-w-0 truncate rounded px-1 font-medium hover:bg-hover"
      >
        {title}
      </Link>
      <Menu
        align="start"
        onOpenChange={(open) => open && load()}
        trigger={
          <IconButton label="Switch project">
            <ChevronsUpDown aria-hidden />
          </IconButton>
        }
      >
        <MenuLabel>{hasFailed ? 'Can’t load projects. Open the menu again.' : 'Projects'}</MenuLabel>
        {targets.projects.map((target) => (
          <MenuLink key={`${target.namespace}/${target.project}`} to={paths.project(target)}>
            <span className="min-w-0 flex-1 truncate">{target.title}</span>
            <code className="text-muted">{target.namespace}</code>
          </MenuLink>
        ))}
        <MenuSeparator />
        <MenuLink to={paths.newProject()}>
          <Plus aria-hidden /> New project
        </MenuLink>
      </Menu>
    </div>
  );
};
