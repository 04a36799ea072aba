/** The parts of menus, a fifth of a page's code. Loaded when a user is about to open one. */
export { DropdownMenu as menuParts } from 'radix-ui';
