/** Images in directories, one for each class. @module */
export { classesOf } from './image-folder.js';
export { imageFolder, type ImageFolderOptions, type LabelledImage } from './image-folder.js';
