// Keeps a reader's files for other pages, in the browser's own database.
"use strict";

const readerKept = (() => {
  const [NAME, STORE, KEY] = ["jaxcap-reader", "files", "all"];

  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  async function inStore(mode, act) {
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    const database = await settled(opening);
    try {
      return await settled(act(database.transaction(STORE, mode).objectStore(STORE)));
    } finally {
      database.close();
    }
  }

  // Names and texts. Another page of this address may have written them: they are read like any files.
  async function load() {
    try {
      return (await inStore("readonly", (store) => store.get(KEY))) ?? [];
    } catch {
      return [];
    }
  }

  // Whether there are files now that can be loaded. Some browsers keep nothing.
  async function save(files) {
    try {
      await inStore("readwrite", (store) => store.put(files, KEY));
      return files.length > 0;
    } catch {
      return false;
    }
  }

  return { load, save };
})();
