/** What menus are made of, a fifth of all code of a page: loaded when somebody is about to open one. */
export { DropdownMenu as menuParts } from 'radix-ui';
