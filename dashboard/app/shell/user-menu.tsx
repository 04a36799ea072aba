import { CircleUser, LogOut } from 'lucide-react';
import { paths } from '../paths.ts';
import { useSubmit } from '../remix.ts';
import { IconButton } from '../ui/icon-button.tsx';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx';

/** The signed-in user, as the API server names them, and the sign-out. */
export const UserMenu = ({ user }: { readonly user: string }) => {
  const submit = useSubmit();
  return (
    <Menu
      trigger={
        <IconButton label={`Signed in as ${user}`}>
          <CircleUser aria-hidden />
        </IconButton>
      }
    >
      <MenuLabel>Signed in as</MenuLabel>
      <p className="max-w-72 px-2 pb-1 font-mono text-small break-all">{user}</p>
      <MenuSeparator />
      <MenuItem onSelect={() => submit(null, { method: 'post', action: paths.logout() })}>
        <LogOut aria-hidden /> Sign out
      </MenuItem>
    </Menu>
  );
};
