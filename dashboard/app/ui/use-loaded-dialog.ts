import { useCallback, useState } from 'react';
import { toast } from './toast.tsx';

/**
 * Returns the state of a dialog whose code `load` loads, and functions that change it. The dialog is rendered only after its code is
 * loaded, because a component that cannot be loaded would replace the page, and the input in it, with an error page.
 */
export const useLoadedDialog = (load: () => Promise<unknown>, name: string) => {
  const [state, setState] = useState<'closed' | 'loading' | 'open'>('closed');
  const open = useCallback((): void => {
    setState((before) => (before === 'open' ? before : 'loading'));
    load().then(
      () => setState((before) => (before === 'loading' ? 'open' : before)),
      () => {
        setState('closed');
        toast(`Can’t load the ${name}. Reload the page.`, 'bad');
      },
    );
  }, [load, name]);
  const onOpenChange = useCallback((isOpen: boolean): void => setState(isOpen ? 'open' : 'closed'), []);
  return { state, open, onOpenChange };
};
