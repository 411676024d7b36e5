// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainCollection} from "./PlainCollection.sol";

/// @title The code behind every clone. Itself locked for good; a clone obeys only the factory that made the template.
contract CollectionTemplate is PlainCollection {
    address private immutable _factory;
    address private immutable _serviceAdmin;

    /// @param serviceAdmin Gets ADMIN_ROLE in clones that ask for it.
    constructor(address serviceAdmin) {
        _factory = msg.sender;
        _serviceAdmin = serviceAdmin;
        _disableInitializers();
    }

    function _initializingFactory() internal view override returns (address) {
        require(msg.sender == _factory, "Only the factory can initialize");
        // The factory sends its `initData` behind the selector: the two records, then the service-admin flag.
        bool grantServiceAdmin = abi.decode(msg.data[68:100], (bool));
        return grantServiceAdmin ? _serviceAdmin : address(0);
    }
}
